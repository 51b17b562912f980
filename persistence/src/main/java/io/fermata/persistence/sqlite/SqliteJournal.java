package io.fermata.persistence.sqlite;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.sql.SqlEntries;
import io.fermata.persistence.sql.SqlJournal;
import io.fermata.persistence.sql.SqlSnapshots;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** The plugins' tables in SQLite, where single statements are cheap. */
public final class SqliteJournal implements SqlJournal {

  static final String TIP =
      """
      SELECT newest.*, (
        SELECT max(seq) FROM (
          SELECT seq FROM directory WHERE persistence_id = ?1
          UNION ALL
          SELECT seq FROM directory
          WHERE persistence_id > ?1 || '.' AND persistence_id < ?1 || '/')) AS listed
      FROM (SELECT 1) LEFT JOIN (
        SELECT sequence_number, checksum, deleted FROM event_journal
        WHERE persistence_id = ?1 ORDER BY sequence_number DESC LIMIT 1) AS newest
      """;

  static final String SNAPSHOT =
      """
      SELECT %s FROM snapshot
      WHERE persistence_id = ? AND sequence_number BETWEEN ? AND ? AND created BETWEEN ? AND ?
      ORDER BY sequence_number DESC LIMIT 1
      """
          .formatted(SqlSnapshots.COLUMNS);

  static final String UNTAG = "DELETE FROM event_tag WHERE event_id = ? AND tag = ?";

  private static final int PRIMARY = 0xff;

  @Override
  public void append(Connection connection, List<SerializedEntry> records) throws SQLException {
    SqlEntries.insert(connection, records);
  }

  @Override
  public List<JournalTip> tips(Connection connection, List<String> persistenceIds)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(TIP)) {
      List<JournalTip> tips = new ArrayList<>();
      for (String persistenceId : persistenceIds) {
        select.setString(1, persistenceId);
        try (ResultSet row = select.executeQuery()) {
          tips.add(SqlEntries.tip(row));
        }
      }
      return tips;
    }
  }

  @Override
  public List<Optional<SerializedSnapshot>> snapshots(
      Connection connection, List<SnapshotRange> ranges) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(SNAPSHOT)) {
      List<Optional<SerializedSnapshot>> snapshots = new ArrayList<>();
      for (SnapshotRange range : ranges) {
        select.setString(1, range.persistenceId());
        select.setLong(2, range.fromSeq());
        select.setLong(3, range.toSeq());
        select.setLong(4, range.fromTime());
        select.setLong(5, range.toTime());
        try (ResultSet row = select.executeQuery()) {
          snapshots.add(row.next() ? Optional.of(SqlSnapshots.read(row)) : Optional.empty());
        }
      }
      return snapshots;
    }
  }

  @Override
  public void deleteBefore(Connection connection, List<JournalEnd> ends) throws SQLException {
    try (PreparedStatement untag = connection.prepareStatement(UNTAG)) {
      for (JournalEnd end : ends) {
        SqlEntries.forgetBefore(connection, end.persistenceId(), end.seq());
        untag.setLong(1, end.eventId());
        untag.setString(2, end.tag());
        untag.executeUpdate();
      }
    }
  }

  @Override
  public boolean refusesRecord(SQLException failed) {
    if (!(failed instanceof SQLiteException sqlite)) {
      return false;
    }
    int primary = sqlite.getResultCode().code & PRIMARY;
    return primary == SQLiteErrorCode.SQLITE_CONSTRAINT.code
        || primary == SQLiteErrorCode.SQLITE_TOOBIG.code;
  }
}
