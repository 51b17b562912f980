package io.fermata.agent;

/** The work in progress was cancelled. */
public final class CancelledException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public CancelledException(InterruptedException cause) {
    super("The work was cancelled", cause);
  }
}
