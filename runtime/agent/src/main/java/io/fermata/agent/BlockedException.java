package io.fermata.agent;

/**
 * Thrown by a hook before a model is called: the call is not made, the message takes the place of
 * the reply, and the thread stops.
 */
public final class BlockedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public BlockedException(String said) {
    super(said);
  }
}
