package io.fermata.flow.action;

/**
 * A failure whose message is meant for the client: {@code throw new StepException("The restaurant
 * is closed that day.")}. The message of any other exception stays in the log.
 */
public final class StepException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StepException(String message) {
    super(message);
  }

  public StepException(String message, Throwable cause) {
    super(message, cause);
  }
}
