package io.fermata.persistence;

import java.util.concurrent.CompletionException;

/** A store was asked for what only one with history, or an order of its own, could tell. */
public final class NoHistoryException extends StoreException {

  private static final long serialVersionUID = 1L;

  NoHistoryException(String message) {
    super(message);
  }

  /** Whether this is why a stage failed. */
  public static boolean causes(Throwable thrown) {
    return thrown instanceof NoHistoryException
        || (thrown instanceof CompletionException && thrown.getCause() instanceof NoHistoryException);
  }

  static NoHistoryException unlisted(String store) {
    return new NoHistoryException(
        store
            + " is a key-value store, which cannot be listed or searched; name what you want, keep a"
            + " list of what you create, or keep sessions in a database");
  }
}
