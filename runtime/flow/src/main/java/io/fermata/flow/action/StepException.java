package io.fermata.flow.action;

import org.jspecify.annotations.Nullable;

/**
 * A failure whose message is meant for the client: {@code throw new StepException("The restaurant
 * is closed that day.")}. The message of any other exception stays in the log. Both are retried as
 * the step's options say, unless the failure is {@link #terminal}.
 */
public final class StepException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final boolean terminal;

  public StepException(String message) {
    this(message, null, false);
  }

  public StepException(String message, Throwable cause) {
    this(message, cause, false);
  }

  private StepException(String message, @Nullable Throwable cause, boolean terminal) {
    super(message, cause);
    this.terminal = terminal;
  }

  /** A failure that further attempts cannot mend: the step is not retried, but stops at once. */
  public static StepException terminal(String message) {
    return new StepException(message, null, true);
  }

  /** A failure that further attempts cannot mend, and what led to it. */
  public static StepException terminal(String message, Throwable cause) {
    return new StepException(message, cause, true);
  }

  public boolean isTerminal() {
    return terminal;
  }
}
