package io.fermata.persistence.spi;

/**
 * A store does not accept an entry, although it works: the session of that entry fails, others do
 * not notice. Any other failure of a write counts against the store.
 */
public final class RejectedException extends StoreException {
  private static final long serialVersionUID = 1;

  public RejectedException(String message) {
    super(message);
  }
}
