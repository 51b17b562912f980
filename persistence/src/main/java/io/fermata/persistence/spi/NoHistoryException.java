package io.fermata.persistence.spi;

/** A store was asked for what only one with history, or an order of its own, could tell. */
public final class NoHistoryException extends StoreException {

  private static final long serialVersionUID = 1L;

  public NoHistoryException(String message) {
    super(message);
  }

  public static NoHistoryException unlisted(String store) {
    return new NoHistoryException(
        store
            + " is a key-value store, which cannot be listed or searched; name what you want, keep a"
            + " list of what you create, or keep sessions in a database");
  }
}
