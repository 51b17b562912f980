package io.fermata.session.admin;

/**
 * A recording was refused, as the present code would decide it otherwise: the message says where.
 */
public final class RecordingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public RecordingException(String message) {
    super(message);
  }
}
