package io.fermata.persistence.spi;

import java.util.Set;

/**
 * A record to import from another store.
 *
 * @param at its write time, in milliseconds since 1970
 * @param tags see {@link JournalTags}
 */
public record NewEntry(StoredEntry entry, long at, Set<String> tags) {

  public static final String WRITER = "import";

  public NewEntry {
    tags = Set.copyOf(tags);
  }

  /** Refuses a record that does not follow the one before it. */
  public static void requireNext(String persistenceId, long before, long seq) {
    if (seq != before + 1) {
      throw new IllegalArgumentException(
          "In the journal "
              + persistenceId
              + " record "
              + seq
              + " follows record "
              + before
              + "; pass all its records in order");
    }
  }

  public static StoreException present(String persistenceId) {
    return new JournalPresentException(persistenceId);
  }
}
