package io.fermata.agent;

import org.jspecify.annotations.Nullable;

/**
 * Thrown by a tool that cannot tell whether what it asked for was done: the other side broke off
 * before it answered. A tool that may run only {@link Tool#once} is not tried again after it.
 */
public final class OutcomeUnknownException extends Exception {
  private static final long serialVersionUID = 1;

  static final String CODE = "outcome_unknown";

  public OutcomeUnknownException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
