package io.fermata.persistence.spi;

/** An import failed because the store has a journal of that name; nothing was written. */
public final class JournalPresentException extends StoreException {

  private static final long serialVersionUID = 1L;

  JournalPresentException(String persistenceId) {
    super(
        "The store already has the journal "
            + persistenceId
            + "; erase it first, or choose another store");
  }
}
