package io.fermata.persistence.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** The table of what a store knows about itself. */
final class SqlMeta {

  private static final String PROBE =
      """
      INSERT INTO fermata_meta (key, value) VALUES ('probed', ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """;

  private SqlMeta() {}

  /** Writes the current time, to see whether the database can be written. */
  static int probe(Connection connection) throws SQLException {
    try (PreparedStatement put = connection.prepareStatement(PROBE)) {
      put.setString(1, Long.toString(System.currentTimeMillis()));
      return put.executeUpdate();
    }
  }
}
