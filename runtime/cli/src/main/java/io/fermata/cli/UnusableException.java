package io.fermata.cli;

import org.jspecify.annotations.Nullable;

/**
 * A store, file or server that cannot be used. A command that throws it exits with {@link
 * Cli#UNUSABLE} and prints only its message, which says why and what to do next.
 */
public final class UnusableException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public UnusableException(String message) {
    super(message);
  }

  public UnusableException(@Nullable String message, Throwable cause) {
    super(message, cause);
  }
}
