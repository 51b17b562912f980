package io.fermata.cli;

import org.jspecify.annotations.Nullable;

/** A store, file or server that cannot be used; the message says why and what to do next. */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  UsageException(String message) {
    super(message);
  }

  UsageException(@Nullable String message, Throwable cause) {
    super(message, cause);
  }
}
