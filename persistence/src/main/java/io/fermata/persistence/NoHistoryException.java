package io.fermata.persistence;

/** A store was asked for what only one with history, or an order of its own, could tell. */
public final class NoHistoryException extends StoreException {

  private static final long serialVersionUID = 1L;

  NoHistoryException(String message) {
    super(message);
  }
}
