package io.fermata.persistence.postgres;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlTexts;
import io.fermata.persistence.sql.Trigrams;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A GIN index of the trigrams of each text, in a table of its own: every update of a row is one of
 * all its indexes, and a call updates the row of its run in the directory.
 */
final class PostgresTexts implements SqlTexts {

  private static final String PUT =
      """
      INSERT INTO directory_text (persistence_id, trigrams) VALUES (?, ?)
      ON CONFLICT (persistence_id) DO UPDATE SET trigrams = excluded.trigrams
      WHERE directory_text.trigrams <> excluded.trigrams
      """;

  /** The operator of PostgreSQL, whatever extensions add. */
  static final String CANDIDATES =
      """
      SELECT persistence_id FROM directory_text
      WHERE trigrams OPERATOR(pg_catalog.@>) ? LIMIT ?\
      """;

  /** A GIN index has bitmaps only, which all other statements do without. */
  private static final String WITH_BITMAPS =
      "SET LOCAL enable_bitmapscan = on; %s; SET LOCAL enable_bitmapscan = off"
          .formatted(CANDIDATES);

  /** What belongs to deleted entries is deleted by the reference to them. */
  @Override
  public void settle(Connection connection, List<DirectoryEntry> entries) throws SQLException {
    Sql.updateAll(
        connection,
        PUT,
        entries,
        entry -> List.of(entry.persistenceId(), Trigrams.of(entry.searchable())));
  }

  @Override
  public Optional<Object> candidates(Connection connection, int[] trigrams, int most)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(WITH_BITMAPS)) {
      select.setObject(1, trigrams);
      select.setInt(2, most + 1);
      select.execute();
      select.getMoreResults();
      List<String> found = new ArrayList<>();
      try (ResultSet rows = select.getResultSet()) {
        while (rows.next()) {
          found.add(rows.getString(1));
        }
      }
      return found.size() > most ? Optional.empty() : Optional.of(found.toArray(String[]::new));
    }
  }
}
