package io.fermata.session.admin;

/**
 * An import failed because the input is no journal that this host accepts, and nothing was written;
 * or a journal could not be exported as a whole.
 */
public final class ArchiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ArchiveException(String message) {
    super(message);
  }

  public ArchiveException(String message, Throwable cause) {
    super(message, cause);
  }
}
