package io.fermata.persistence.spi;

import org.jspecify.annotations.Nullable;

/**
 * A store refused a request or failed; the message names the store, the reason and the next step.
 */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final StoreProblem problem;

  public StoreException(String message) {
    super(message);
    this.problem = StoreProblem.REFUSES;
  }

  public StoreException(String message, Throwable cause) {
    this(StoreProblem.REFUSES, message, cause);
  }

  public StoreException(StoreProblem problem, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.problem = problem;
  }

  /** The kind of failure. */
  public final StoreProblem problem() {
    return problem;
  }
}
