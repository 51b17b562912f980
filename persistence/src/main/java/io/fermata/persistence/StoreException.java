package io.fermata.persistence;

/** A store refused or failed; the message names the store, the reason and what to do next. */
public sealed class StoreException extends RuntimeException
    permits JournalPresentException, NoHistoryException {

  private static final long serialVersionUID = 1L;

  StoreException(String message) {
    super(message);
  }

  StoreException(String message, Throwable cause) {
    super(message, cause);
  }
}
