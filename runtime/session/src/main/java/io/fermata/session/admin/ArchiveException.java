package io.fermata.session.admin;

/** What was to be imported is no journal that this host can take; nothing of it was written. */
public final class ArchiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ArchiveException(String message) {
    super(message);
  }

  public ArchiveException(String message, Throwable cause) {
    super(message, cause);
  }
}
