package io.fermata.session;

/** What was to be imported is no journal that this host can take; nothing of it was written. */
public final class ArchiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ArchiveException(String message) {
    super(message);
  }

  ArchiveException(String message, Throwable cause) {
    super(message, cause);
  }
}
