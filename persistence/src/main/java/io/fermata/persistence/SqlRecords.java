package io.fermata.persistence;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Reads and removes the records of single journals. */
final class SqlRecords {

  private static final String SELECT =
      """
      SELECT sequence_number, event_ser_id, event_ser_manifest, event_payload
      FROM event_journal
      WHERE persistence_id = ? AND deleted = FALSE AND sequence_number\
      """;

  static final String FORWARDS = SELECT + " >= ? ORDER BY sequence_number LIMIT ?";
  static final String BACKWARDS = SELECT + " < ? ORDER BY sequence_number DESC LIMIT ?";

  static final String DELETE_EVENTS = "DELETE FROM event_journal WHERE persistence_id = ?";
  static final String DELETE_SNAPSHOTS = "DELETE FROM snapshot WHERE persistence_id = ?";

  static final String NEWEST = "SELECT max(ordering) FROM event_journal";

  static final String WRITTEN =
      """
      SELECT ordering, persistence_id FROM event_journal
      WHERE ordering > ? ORDER BY ordering LIMIT ?
      """;

  /** Leaps from journal to journal, however long they are. */
  static final String JOURNALS =
      """
      WITH RECURSIVE journal (id) AS (
        SELECT min(persistence_id) FROM event_journal WHERE persistence_id > ?
        UNION ALL
        SELECT (SELECT min(persistence_id) FROM event_journal WHERE persistence_id > journal.id)
        FROM journal WHERE journal.id IS NOT NULL)
      SELECT id FROM journal WHERE id IS NOT NULL LIMIT ?
      """;

  private SqlRecords() {}

  static long newest(Connection connection) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(NEWEST);
        ResultSet row = select.executeQuery()) {
      return row.next() ? row.getLong(1) : 0;
    }
  }

  static List<Written> written(Connection connection, long after, int max) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(WRITTEN)) {
      select.setLong(1, after);
      select.setInt(2, max);
      try (ResultSet rows = select.executeQuery()) {
        List<Written> written = new ArrayList<>();
        while (rows.next()) {
          written.add(new Written(rows.getLong(1), rows.getString(2)));
        }
        return written;
      }
    }
  }

  static List<String> journals(Connection connection, String after, int max) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(JOURNALS)) {
      select.setString(1, after);
      select.setInt(2, max);
      try (ResultSet rows = select.executeQuery()) {
        List<String> journals = new ArrayList<>();
        while (rows.next()) {
          journals.add(rows.getString(1));
        }
        return journals;
      }
    }
  }

  static List<StoredRecord> read(Connection connection, Slice slice) throws SQLException {
    String sql = slice.backwards() ? BACKWARDS : FORWARDS;
    try (PreparedStatement select = connection.prepareStatement(sql)) {
      select.setString(1, slice.persistenceId());
      select.setLong(2, slice.edge());
      select.setInt(3, slice.max());
      try (ResultSet rows = select.executeQuery()) {
        List<StoredRecord> records = new ArrayList<>();
        while (rows.next()) {
          records.add(
              new StoredRecord(
                  rows.getLong(1), rows.getInt(2), rows.getString(3), rows.getBytes(4)));
        }
        return records;
      }
    }
  }

  /** The tags go with their events. */
  static void forget(Connection connection, String persistenceId) throws SQLException {
    for (String sql : List.of(DELETE_EVENTS, DELETE_SNAPSHOTS)) {
      try (PreparedStatement delete = connection.prepareStatement(sql)) {
        delete.setString(1, persistenceId);
        delete.executeUpdate();
      }
    }
    SqlDirectory.forget(connection, persistenceId);
  }
}
