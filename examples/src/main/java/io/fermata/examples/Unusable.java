package io.fermata.examples;

/** A store, a file or a server that cannot be used; the message says why and what to do next. */
final class Unusable extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Unusable(String message) {
    super(message);
  }

  Unusable(String message, Throwable cause) {
    super(message, cause);
  }
}
