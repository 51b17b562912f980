package io.fermata.persistence.sqlite;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.Written;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlEntries;
import io.fermata.persistence.sql.SqlJournal;
import io.fermata.persistence.sql.SqlObsoleteTags;
import io.fermata.persistence.sql.SqlShards;
import io.fermata.persistence.sql.SqlSnapshots;
import io.fermata.persistence.sql.SqlTexts;
import io.fermata.persistence.sql.SqlWrite;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.sqlite.SQLiteErrorCode;

/** The plugins' tables in SQLite, where single statements are cheap. */
public final class SqliteJournal implements SqlJournal {

  private static final String INSERT =
      """
      INSERT INTO event_journal (
        persistence_id, sequence_number, writer, write_timestamp,
        event_payload, event_ser_id, event_ser_manifest, checksum, previous)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """;

  private static final String INSERT_TAG =
      """
      INSERT INTO event_tag (event_id, tag)
      SELECT ordering, ? FROM event_journal WHERE persistence_id = ? AND sequence_number = ?
      """;

  static final String TIP =
      """
      SELECT newest.*, max(
        coalesce((SELECT seq FROM directory WHERE persistence_id = ?1), 0),
        coalesce((
          SELECT seq FROM directory
          WHERE persistence_id > ?1 || '.' AND persistence_id < ?1 || '/'
          ORDER BY persistence_id DESC LIMIT 1), 0)) AS listed
      FROM (SELECT 1) LEFT JOIN (
        SELECT sequence_number, checksum, deleted, EXISTS (
          SELECT 1 FROM event_tag WHERE event_id = ordering AND tag BETWEEN '%s' AND '%s')
        FROM event_journal
        WHERE persistence_id = ?1 ORDER BY sequence_number DESC LIMIT 1) AS newest
      """
          .formatted(JournalTags.forget(0), JournalTags.forget(Long.MAX_VALUE));

  static final String SNAPSHOT =
      """
      SELECT %s FROM snapshot
      WHERE persistence_id = ? AND sequence_number BETWEEN ? AND ? AND created BETWEEN ? AND ?
      ORDER BY sequence_number DESC LIMIT 1
      """
          .formatted(SqlSnapshots.COLUMNS);

  /** The first end before one that is kept longer. */
  static final String PROMISED =
      """
      SELECT promised.sequence_number, until.tag
      FROM event_journal AS promised CROSS JOIN event_tag AS until
      WHERE promised.persistence_id = ?
        AND promised.sequence_number < ?
        AND until.event_id = promised.ordering
        AND until.tag BETWEEN ? AND ?
      ORDER BY promised.sequence_number
      LIMIT 1
      """;

  private static final String MARK = "UPDATE directory_mark SET number = ?";
  private static final String FIRST_MARK = "INSERT INTO directory_mark (number) VALUES (?)";
  private static final String MARKED = "SELECT number FROM directory_mark";

  @Override
  public SqlShards shards() {
    return SqlShards.UNDIVIDED;
  }

  @Override
  public SqlTexts texts() {
    return new SqliteTexts();
  }

  @Override
  public void append(Connection connection, List<SqlWrite> writes) throws SQLException {
    try (PreparedStatement insert = connection.prepareStatement(INSERT);
        PreparedStatement tag = connection.prepareStatement(INSERT_TAG)) {
      for (SqlWrite write : writes) {
        for (SerializedEntry entry : write.records()) {
          insert(insert, tag, entry);
        }
      }
    }
  }

  private static void insert(PreparedStatement insert, PreparedStatement tag, SerializedEntry entry)
      throws SQLException {
    insert.setString(1, entry.persistenceId());
    insert.setLong(2, entry.sequenceNr());
    insert.setString(3, entry.writer());
    insert.setLong(4, entry.timestamp());
    Serialized.set(insert, 5, entry.event());
    insert.setInt(8, entry.checksum());
    insert.setObject(9, entry.previous(), Types.INTEGER);
    insert.executeUpdate();
    for (String name : entry.tags()) {
      tag.setString(1, name);
      tag.setString(2, entry.persistenceId());
      tag.setLong(3, entry.sequenceNr());
      tag.executeUpdate();
    }
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
    for (JournalEnd end : ends) {
      SqlEntries.forgetBefore(connection, end.persistenceId(), end.seq());
    }
    Sql.updateAll(
        connection, SqlObsoleteTags.DELETE, ends, end -> List.of(end.eventId(), end.tag()));
  }

  @Override
  public List<Promise> promised(
      Connection connection, List<JournalEnd> ends, String from, String to) throws SQLException {
    List<Promise> promises = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(PROMISED)) {
      for (JournalEnd end : ends) {
        select.setString(1, end.persistenceId());
        select.setLong(2, end.seq());
        select.setString(3, from);
        select.setString(4, to);
        try (ResultSet row = select.executeQuery()) {
          if (row.next()) {
            promises.add(new Promise(end.persistenceId(), row.getLong(1), row.getString(2)));
          }
        }
      }
    }
    return promises;
  }

  @Override
  public List<Written> written(Connection connection, long after, int max) throws SQLException {
    return SqlEntries.written(connection, after, max);
  }

  @Override
  public void mark(Connection connection, long number) throws SQLException {
    if (Sql.update(connection, MARK, number) == 0) {
      Sql.update(connection, FIRST_MARK, number);
    }
  }

  @Override
  public long marked(Connection connection) throws SQLException {
    return Sql.first(connection, MARKED, row -> row.getLong(1)).orElse(0L);
  }

  @Override
  public boolean refusesRecord(SQLException failed) {
    return SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_CONSTRAINT)
        || SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_TOOBIG);
  }
}
