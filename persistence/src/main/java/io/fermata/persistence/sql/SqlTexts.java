package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryEntry;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** The index of the texts of the directory, by their {@link Trigrams}. */
public interface SqlTexts {

  /**
   * Brings the index up to date in a transaction that has changed or deleted entries.
   *
   * @param entries those that were put and whose texts are new or may have changed
   */
  void settle(Connection connection, List<DirectoryEntry> entries) throws SQLException;

  /**
   * The entries that have all of the trigrams, as a parameter of {@link Dialect#candidates}; empty
   * if there are more, or finding them would take long.
   */
  Optional<Object> candidates(Connection connection, int[] trigrams, int most) throws SQLException;
}
