package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryEntry;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** The index of the texts of the directory, by their {@link Trigrams}. */
public interface SqlTexts {

  /** Adds the texts of entries that are new or have changed, in the transaction of the change. */
  void put(Connection connection, List<DirectoryEntry> entries) throws SQLException;

  /**
   * The entries that have all of the trigrams, as a parameter of {@link Dialect#candidates}; empty
   * if there are more, or finding them would take long.
   */
  Optional<Object> candidates(Connection connection, int[] trigrams, int most) throws SQLException;
}
