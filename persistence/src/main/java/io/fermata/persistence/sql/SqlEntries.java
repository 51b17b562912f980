package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.ChainCheck;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Written;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/** Reads and removes the records of single journals. */
public final class SqlEntries {

  private static final String SELECT =
      """
      SELECT sequence_number, writer, write_timestamp,
        event_payload, event_ser_id, event_ser_manifest, checksum, previous
      FROM event_journal
      WHERE persistence_id = ? AND deleted = FALSE AND sequence_number\
      """;

  public static final String FORWARDS = SELECT + " >= ? ORDER BY sequence_number LIMIT ?";
  public static final String BACKWARDS = SELECT + " < ? ORDER BY sequence_number DESC LIMIT ?";
  public static final String REPLAY = SELECT + " BETWEEN ? AND ? ORDER BY sequence_number LIMIT ?";

  private static final String UP_TO = " WHERE persistence_id = ? AND sequence_number <= ?";
  public static final String DELETE_EVENTS = "DELETE FROM event_journal" + UP_TO;
  public static final String DELETE_SNAPSHOTS = "DELETE FROM snapshot" + UP_TO;
  public static final String DELETE_ENTRY =
      "DELETE FROM directory WHERE persistence_id = ? AND seq <= ?";

  /** Skips from journal to journal, independently of their length. */
  static final String JOURNALS =
      """
      WITH RECURSIVE journal (id) AS (
        SELECT min(persistence_id) FROM event_journal WHERE persistence_id > ?
        UNION ALL
        SELECT (SELECT min(persistence_id) FROM event_journal WHERE persistence_id > journal.id)
        FROM journal WHERE journal.id IS NOT NULL)
      SELECT id FROM journal WHERE id IS NOT NULL LIMIT ?
      """;

  static final String NEWEST = "SELECT max(ordering) FROM event_journal";

  public static final String WRITTEN =
      """
      SELECT ordering, persistence_id FROM event_journal
      WHERE ordering > ? ORDER BY ordering LIMIT ?
      """;

  private static final String DELETE_BEFORE_NEWEST =
      """
      DELETE FROM event_journal
      WHERE persistence_id = ? AND sequence_number <= ?
        AND sequence_number < (
          SELECT max(sequence_number) FROM event_journal WHERE persistence_id = ?)
      """;

  private static final String BEGIN_AFTER =
      """
      UPDATE event_journal SET previous = (
        SELECT before.checksum FROM event_journal AS before
        WHERE before.persistence_id = ? AND before.sequence_number = ?)
      WHERE persistence_id = ? AND sequence_number = ? AND previous IS NULL
      """;

  private static final String MARK_DELETED =
      """
      UPDATE event_journal SET deleted = TRUE
      WHERE persistence_id = ? AND sequence_number <= ?
      """;

  /** How many imported entries share a round trip. */
  private static final int AT_ONCE = 100;

  private SqlEntries() {}

  static long newest(Connection connection) throws SQLException {
    return Sql.first(connection, NEWEST, row -> row.getLong(1)).orElse(0L);
  }

  public static List<Written> written(Connection connection, long after, int max)
      throws SQLException {
    return Sql.list(connection, WRITTEN, SqlEntries::written, after, max);
  }

  public static Written written(ResultSet row) throws SQLException {
    return new Written(row.getLong(1), row.getString(2));
  }

  static List<String> journals(Connection connection, String after, int max) throws SQLException {
    return Sql.list(connection, JOURNALS, row -> row.getString(1), after, max);
  }

  /** With the entry before them, which their checksums include. */
  static List<StoredEntry> read(Connection connection, Slice slice) throws SQLException {
    String sql = slice.backwards() ? BACKWARDS : FORWARDS;
    String id = slice.persistenceId();
    long edge = slice.backwards() ? slice.edge() : slice.edge() - 1;
    return ChainCheck.checked(
        slice, Sql.list(connection, sql, row -> entry(id, row), id, edge, slice.max() + 1));
  }

  /** Deletes journals, and returns what was deleted of each. */
  static List<Deleted> forget(Connection connection, List<String> persistenceIds)
      throws SQLException {
    return forgetUpTo(
        connection, persistenceIds.stream().map(id -> new UpTo(id, Long.MAX_VALUE)).toList());
  }

  /** A journal up to a record. */
  record UpTo(String persistenceId, long seq) {}

  /**
   * Deletes journals up to a record, and all their snapshots. The tags are deleted with their
   * events.
   */
  static List<Deleted> forgetUpTo(Connection connection, List<UpTo> journals) throws SQLException {
    int[] events = delete(connection, DELETE_EVENTS, journals);
    List<UpTo> all =
        journals.stream().map(upTo -> new UpTo(upTo.persistenceId(), Long.MAX_VALUE)).toList();
    int[] snapshots = delete(connection, DELETE_SNAPSHOTS, all);
    int[] entries = delete(connection, DELETE_ENTRY, journals);
    int[] parts = SqlDirectory.forgetParts(connection, journals);
    List<Deleted> deleted = new ArrayList<>();
    for (int i = 0; i < journals.size(); i++) {
      deleted.add(Deleted.of(events[i], snapshots[i], entries[i] + parts[i]));
    }
    return deleted;
  }

  /** Deletes everything before a record, and the entries of the parts that it ends. */
  public static void forgetBefore(Connection connection, String persistenceId, long seq)
      throws SQLException {
    List<UpTo> before = List.of(new UpTo(persistenceId, seq - 1));
    delete(connection, DELETE_EVENTS, before);
    delete(connection, DELETE_SNAPSHOTS, before);
    SqlDirectory.forgetParts(connection, List.of(new UpTo(persistenceId, seq)));
  }

  private static int[] delete(Connection connection, String sql, List<UpTo> journals)
      throws SQLException {
    return Sql.updateAll(
        connection, sql, journals, upTo -> List.of(upTo.persistenceId(), upTo.seq()));
  }

  /** Imports a journal, of which a part is in memory at a time. */
  static int add(
      Connection connection, SqlJournal journal, String persistenceId, Iterable<NewEntry> records)
      throws SQLException {
    if (!read(connection, Slice.from(persistenceId, 0, 1)).isEmpty()) {
      throw NewEntry.present(persistenceId);
    }
    long right = journal.shards().right(persistenceId);
    Iterator<SerializedEntry> entries = SerializedEntry.imported(persistenceId, records);
    int added = 0;
    while (entries.hasNext()) {
      List<SerializedEntry> some = new ArrayList<>(AT_ONCE);
      while (entries.hasNext() && some.size() < AT_ONCE) {
        some.add(entries.next());
      }
      journal.append(connection, List.of(new SqlWrite(right, some)));
      added += some.size();
    }
    return added;
  }

  /** The first entries of a range of a journal, with what the store knows of them. */
  static List<SerializedEntry> replay(
      Connection connection, String persistenceId, long from, long to, long max)
      throws SQLException {
    return Sql.list(
        connection, REPLAY, row -> entry(persistenceId, row), persistenceId, from, to, max);
  }

  private static SerializedEntry entry(String persistenceId, ResultSet row) throws SQLException {
    return new SerializedEntry(
        persistenceId,
        row.getLong(1),
        row.getString(2),
        row.getLong(3),
        Set.of(),
        Serialized.get(row, 4),
        row.getInt(7),
        (Integer) row.getObject(8));
  }

  static int deleteTo(Connection connection, String persistenceId, long to) throws SQLException {
    if (to < Long.MAX_VALUE) {
      Sql.update(connection, BEGIN_AFTER, persistenceId, to, persistenceId, to + 1);
    }
    return Sql.update(connection, DELETE_BEFORE_NEWEST, persistenceId, to, persistenceId)
        + Sql.update(connection, MARK_DELETED, persistenceId, to);
  }

  /** The newest entry of a journal, and what the directory has seen of it. */
  public static JournalTip tip(ResultSet row) throws SQLException {
    return new JournalTip(
        row.getLong(1), row.getInt(2), row.getBoolean(3), row.getBoolean(4), row.getLong(5));
  }
}
