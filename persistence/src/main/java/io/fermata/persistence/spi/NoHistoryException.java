package io.fermata.persistence.spi;

/** The request needs a store that keeps history or can list its journals. */
public final class NoHistoryException extends StoreException {

  private static final long serialVersionUID = 1L;

  public NoHistoryException(String message) {
    super(message);
  }

  public static NoHistoryException unlisted(String store) {
    return new NoHistoryException(
        store
            + " is a key-value store, which cannot be listed or searched; request"
            + " sessions by name, keep your own list of what you create, or use a database");
  }
}
