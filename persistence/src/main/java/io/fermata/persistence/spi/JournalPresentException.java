package io.fermata.persistence.spi;

/** A journal was to be taken into a store that has one of its name; nothing was written. */
public final class JournalPresentException extends StoreException {

  private static final long serialVersionUID = 1L;

  JournalPresentException(String persistenceId) {
    super(
        "The store has a journal "
            + persistenceId
            + " already; erase that first, or choose another store");
  }
}
