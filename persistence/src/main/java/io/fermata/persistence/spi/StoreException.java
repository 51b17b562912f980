package io.fermata.persistence.spi;

/**
 * A store refused a request or failed; the message names the store, the reason and the next step.
 */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  public StoreException(String message) {
    super(message);
  }

  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }
}
