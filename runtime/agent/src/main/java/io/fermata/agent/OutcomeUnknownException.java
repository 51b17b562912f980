package io.fermata.agent;

import org.jspecify.annotations.Nullable;

/**
 * Thrown by a tool that cannot know whether its request took effect, because the other side
 * disconnected before it replied. A tool that runs {@link Tool#once} is not retried after it.
 */
public final class OutcomeUnknownException extends Exception {
  private static final long serialVersionUID = 1;

  public static final String CODE = "outcome_unknown";

  public OutcomeUnknownException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
