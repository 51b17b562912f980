package io.fermata.agent;

/** The work in progress was cancelled. */
final class CancelledException extends RuntimeException {
  private static final long serialVersionUID = 1;

  CancelledException(InterruptedException cause) {
    super("The work was given up", cause);
  }
}
