package io.fermata.persistence.postgres;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.Written;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlEntries;
import io.fermata.persistence.sql.SqlJournal;
import io.fermata.persistence.sql.SqlShards;
import io.fermata.persistence.sql.SqlSnapshots;
import io.fermata.persistence.sql.SqlTexts;
import io.fermata.persistence.sql.SqlWrite;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The plugins' tables in PostgreSQL. A request for many sessions is one statement, so one round
 * trip; a single statement needs no transaction around it.
 */
final class PostgresJournal implements SqlJournal {

  private static final String APPEND_TO =
      """
      WITH written AS (
        INSERT INTO event_journal (
          slice, persistence_id, sequence_number, writer, write_timestamp,
          event_payload, event_ser_id, event_ser_manifest, checksum, previous)
        SELECT entry.* FROM %sunnest(
          CAST(? AS smallint[]), CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS text[]),
          CAST(? AS bigint[]), CAST(? AS bytea[]), CAST(? AS integer[]), CAST(? AS text[]),
          CAST(? AS integer[]), CAST(? AS integer[])) AS entry
        RETURNING ordering, slice, persistence_id, sequence_number)
      INSERT INTO event_tag (event_id, slice, tag)
      SELECT written.ordering, written.slice, tagged.tag
      FROM unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS text[]))
          AS tagged (persistence_id, sequence_number, tag)
        JOIN written USING (persistence_id, sequence_number)
      """;

  static final String APPEND = APPEND_TO.formatted("");

  /** Joined with the fence, which fails before the first entry is written, or lets all through. */
  static final String FENCED_APPEND =
      APPEND_TO.formatted("fermata_fence(CAST(? AS integer[]), CAST(? AS bigint[])) CROSS JOIN ");

  // PostgreSQL 13 would also plan to read all tags for an EXISTS.
  static final String TIPS =
      """
      SELECT newest.*, GREATEST(
        (SELECT seq FROM directory WHERE directory.persistence_id = asked.persistence_id),
        (SELECT seq FROM directory
          WHERE directory.persistence_id > asked.persistence_id || '.'
            AND directory.persistence_id < asked.persistence_id || '/'
          ORDER BY directory.persistence_id DESC LIMIT 1)) AS listed
      FROM unnest(CAST(? AS text[])) WITH ORDINALITY AS asked (persistence_id, place)
        LEFT JOIN LATERAL (
          SELECT sequence_number, checksum, deleted, (
            SELECT 1 FROM event_tag WHERE event_id = ordering AND tag BETWEEN '%s' AND '%s'
            LIMIT 1) IS NOT NULL
          FROM event_journal
          WHERE event_journal.persistence_id = asked.persistence_id
          ORDER BY event_journal.sequence_number DESC LIMIT 1) AS newest ON TRUE
      ORDER BY asked.place
      """
          .formatted(JournalTags.forget(0), JournalTags.forget(Long.MAX_VALUE));

  static final String SNAPSHOTS =
      """
      SELECT newest.*, asked.place
      FROM unnest(
          CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS bigint[]), CAST(? AS bigint[]),
          CAST(? AS bigint[])) WITH ORDINALITY
          AS asked (persistence_id, from_seq, to_seq, from_time, to_time, place)
        CROSS JOIN LATERAL (
          SELECT %s FROM snapshot
          WHERE snapshot.persistence_id = asked.persistence_id
            AND snapshot.sequence_number BETWEEN asked.from_seq AND asked.to_seq
            AND snapshot.created BETWEEN asked.from_time AND asked.to_time
          ORDER BY snapshot.sequence_number DESC LIMIT 1) AS newest
      """
          .formatted(SqlSnapshots.COLUMNS);

  private static final String ENDS =
      """
      unnest(CAST(? AS text[]), CAST(? AS bigint[])) AS ended (persistence_id, sequence_number)\
      """;

  private static final String DELETE_BEFORE =
      """
      DELETE FROM %s AS old USING %s
      WHERE old.persistence_id = ended.persistence_id
        AND old.sequence_number < ended.sequence_number
      """;

  static final String DELETE_EVENTS = DELETE_BEFORE.formatted("event_journal", ENDS);
  static final String DELETE_SNAPSHOTS = DELETE_BEFORE.formatted("snapshot", ENDS);

  /** As {@link SqlDirectory#DELETE_PARTS}, for many journals. */
  static final String DELETE_PARTS =
      """
      DELETE FROM directory AS part USING %s
      WHERE part.persistence_id > ended.persistence_id || '.'
        AND part.persistence_id < coalesce((
          SELECT kept.persistence_id FROM directory AS kept
          WHERE kept.persistence_id > ended.persistence_id || '.'
            AND kept.persistence_id < ended.persistence_id || '/'
            AND kept.seq > ended.sequence_number
          ORDER BY kept.persistence_id LIMIT 1), ended.persistence_id || '/')
      """
          .formatted(ENDS);

  static final String DELETE_TAGS =
      """
      DELETE FROM event_tag USING
        unnest(CAST(? AS bigint[]), CAST(? AS text[])) AS ended (event_id, tag)
      WHERE event_tag.event_id = ended.event_id AND event_tag.tag = ended.tag
      """;

  /** The first ends before these that are kept longer. */
  static final String PROMISED =
      """
      SELECT DISTINCT ON (ended.persistence_id)
        ended.persistence_id, promised.sequence_number, until.tag
      FROM %s CROSS JOIN event_journal AS promised CROSS JOIN event_tag AS until
      WHERE promised.persistence_id = ended.persistence_id
        AND promised.sequence_number < ended.sequence_number
        AND until.event_id = promised.ordering
        AND until.tag BETWEEN ? AND ?
      ORDER BY ended.persistence_id, promised.sequence_number
      """
          .formatted(ENDS);

  /** By their numbers, of which few are read that are not of a held shard: it follows a mark. */
  static final String WRITTEN =
      """
      SELECT ordering, persistence_id FROM event_journal
      WHERE ordering > ? AND slice / %s = ANY (CAST(? AS integer[]))
      ORDER BY ordering LIMIT ?
      """
          .formatted(Shard.SLICES / Shard.COUNT);

  /** With a place for the shards. Each has one row, and dead ones with lower marks. */
  static final String MARK =
      """
      UPDATE shard_mark SET mark = ?
      FROM (%s) AS asked CROSS JOIN LATERAL (
        SELECT mark FROM shard_mark WHERE shard_mark.shard = asked.shard
        ORDER BY mark DESC LIMIT 1) AS latest
      WHERE shard_mark.shard = asked.shard AND shard_mark.mark = latest.mark
      """;

  static final String MARK_ALL = MARK.formatted("SELECT shard FROM shard");
  private static final String MARKED = "SELECT min(mark) FROM shard_mark";

  private static final int PLACE = 9;

  /** The SQL state classes of data errors: values, integrity, limits. */
  private static final Set<String> OF_THE_DATA = Set.of("22", "23", "54");

  private final PostgresShards shards;

  PostgresJournal(PostgresShards shards) {
    this.shards = shards;
  }

  @Override
  public SqlShards shards() {
    return shards;
  }

  @Override
  public SqlTexts texts() {
    return new PostgresTexts();
  }

  @Override
  public void append(Connection connection, List<SqlWrite> writes) throws SQLException {
    SortedMap<Integer, Long> rights = new TreeMap<>();
    List<SerializedEntry> records = new ArrayList<>();
    for (SqlWrite write : writes) {
      int shard = Shard.of(write.records().get(0).persistenceId());
      shards.requireCurrent(shard, write.right());
      rights.put(shard, write.right());
      records.addAll(write.records());
    }
    String sql = shards.isShared() ? FENCED_APPEND : APPEND;
    try (PreparedStatement insert = connection.prepareStatement(sql)) {
      int next = 1;
      if (shards.isShared()) {
        insert.setObject(next++, PostgresShards.shards(rights));
        insert.setObject(next++, PostgresShards.epochs(rights));
      }
      insert(connection, insert, next, records);
    } catch (SQLException failed) {
      throw shards.explained(failed);
    }
  }

  private static void insert(
      Connection connection, PreparedStatement insert, int next, List<SerializedEntry> records)
      throws SQLException {
    Columns<SerializedEntry> record = new Columns<>(connection, insert, next, records);
    record.add("int2", each -> (short) Shard.sliceOf(each.persistenceId()));
    record.add("text", SerializedEntry::persistenceId);
    record.add("int8", SerializedEntry::sequenceNr);
    record.add("text", SerializedEntry::writer);
    record.add("int8", SerializedEntry::timestamp);
    record.add("bytea", each -> each.event().bytes());
    record.add("int4", each -> each.event().serializer());
    record.add("text", each -> each.event().manifest());
    record.add("int4", SerializedEntry::checksum);
    record.add("int4", SerializedEntry::previous);
    Columns<Tag> tag = new Columns<>(connection, insert, record.next(), tags(records));
    tag.add("text", each -> each.of().persistenceId());
    tag.add("int8", each -> each.of().sequenceNr());
    tag.add("text", Tag::tag);
    insert.executeUpdate();
  }

  private record Tag(SerializedEntry of, String tag) {}

  private static List<Tag> tags(List<SerializedEntry> records) {
    List<Tag> tags = new ArrayList<>();
    records.forEach(record -> record.tags().forEach(tag -> tags.add(new Tag(record, tag))));
    return tags;
  }

  @Override
  public List<JournalTip> tips(Connection connection, List<String> persistenceIds)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(TIPS)) {
      new Columns<>(connection, select, 1, persistenceIds).add("text", id -> id);
      return Sql.list(select, SqlEntries::tip);
    }
  }

  @Override
  public List<Optional<SerializedSnapshot>> snapshots(
      Connection connection, List<SnapshotRange> ranges) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(SNAPSHOTS)) {
      Columns<SnapshotRange> range = new Columns<>(connection, select, 1, ranges);
      range.add("text", SnapshotRange::persistenceId);
      range.add("int8", SnapshotRange::fromSeq);
      range.add("int8", SnapshotRange::toSeq);
      range.add("int8", SnapshotRange::fromTime);
      range.add("int8", SnapshotRange::toTime);
      List<Optional<SerializedSnapshot>> snapshots =
          new ArrayList<>(Collections.nCopies(ranges.size(), Optional.empty()));
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          snapshots.set(rows.getInt(PLACE) - 1, Optional.of(SqlSnapshots.read(rows)));
        }
      }
      return snapshots;
    }
  }

  @Override
  public void deleteBefore(Connection connection, List<JournalEnd> ends) throws SQLException {
    for (String sql : List.of(DELETE_PARTS, DELETE_SNAPSHOTS, DELETE_EVENTS)) {
      try (PreparedStatement delete = connection.prepareStatement(sql)) {
        Columns<JournalEnd> end = new Columns<>(connection, delete, 1, ends);
        end.add("text", JournalEnd::persistenceId);
        end.add("int8", JournalEnd::seq);
        delete.executeUpdate();
      }
    }
    try (PreparedStatement delete = connection.prepareStatement(DELETE_TAGS)) {
      Columns<JournalEnd> end = new Columns<>(connection, delete, 1, ends);
      end.add("int8", JournalEnd::eventId);
      end.add("text", JournalEnd::tag);
      delete.executeUpdate();
    }
  }

  @Override
  public List<Promise> promised(
      Connection connection, List<JournalEnd> ends, String from, String to) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(PROMISED)) {
      Columns<JournalEnd> end = new Columns<>(connection, select, 1, ends);
      end.add("text", JournalEnd::persistenceId);
      end.add("int8", JournalEnd::seq);
      select.setString(end.next(), from);
      select.setString(end.next() + 1, to);
      return Sql.list(
          select, row -> new Promise(row.getString(1), row.getLong(2), row.getString(3)));
    }
  }

  @Override
  public List<Written> written(Connection connection, long after, int max) throws SQLException {
    if (!shards.isShared()) {
      return SqlEntries.written(connection, after, max);
    }
    Integer[] held = shards.held().toArray(Integer[]::new);
    return Sql.list(connection, WRITTEN, SqlEntries::written, after, held, max);
  }

  @Override
  public void mark(Connection connection, long number) throws SQLException {
    Sql.update(connection, MARK_ALL, number);
  }

  @Override
  public long marked(Connection connection) throws SQLException {
    return Sql.first(connection, MARKED, row -> row.getLong(1)).orElse(0L);
  }

  @Override
  public boolean refusesRecord(SQLException failed) {
    String state = failed.getSQLState();
    return state != null && OF_THE_DATA.contains(state.substring(0, 2));
  }

  /** Rows that are passed to a statement as one array per column. */
  private static final class Columns<R> {

    private final Connection connection;
    private final PreparedStatement statement;
    private final List<R> rows;
    private int parameter;

    Columns(Connection connection, PreparedStatement statement, int parameter, List<R> rows) {
      this.connection = connection;
      this.statement = statement;
      this.parameter = parameter;
      this.rows = rows;
    }

    void add(String type, Function<R, ? extends @Nullable Object> value) throws SQLException {
      Object[] column = type.equals("bytea") ? new byte[rows.size()][] : array(type, rows.size());
      for (int i = 0; i < column.length; i++) {
        column[i] = value.apply(rows.get(i));
      }
      statement.setArray(parameter++, connection.createArrayOf(type, column));
    }

    private static Object[] array(String type, int size) {
      return switch (type) {
        case "int8" -> new Long[size];
        case "int4" -> new Integer[size];
        case "int2" -> new Short[size];
        default -> new String[size];
      };
    }

    int next() {
      return parameter;
    }
  }
}
