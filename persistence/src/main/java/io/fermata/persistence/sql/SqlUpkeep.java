package io.fermata.persistence.sql;

import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.Unfinished;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The upkeep of journals: finding those that are unfinished or due, sweeping and expiring. */
public final class SqlUpkeep {

  /** The scans have a place for the condition that confines them to a shard. */
  public static final String WORKING =
      """
      SELECT tag.event_id, last.persistence_id
      FROM event_tag AS tag JOIN event_journal AS last ON last.ordering = tag.event_id
      WHERE %stag.tag = ? AND tag.event_id > ?
        AND last.deleted = FALSE
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = last.persistence_id
            AND later.sequence_number > last.sequence_number)
      ORDER BY tag.event_id
      LIMIT ?
      """;

  public static final String DUE =
      """
      SELECT last.persistence_id, tag.tag
      FROM event_tag AS tag JOIN event_journal AS last ON last.ordering = tag.event_id
      WHERE %stag.tag BETWEEN ? AND ?
        AND last.deleted = FALSE
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = last.persistence_id
            AND later.sequence_number > last.sequence_number)
      ORDER BY tag.tag, tag.event_id
      LIMIT ?
      """;

  public static final String ENDS =
      """
      SELECT tag.event_id, tag.tag, ended.persistence_id, ended.sequence_number
      FROM event_tag AS tag JOIN event_journal AS ended ON ended.ordering = tag.event_id
      WHERE %stag.tag BETWEEN ? AND ?
      ORDER BY tag.tag, tag.event_id
      LIMIT ?
      """;

  public static final String SOME_TAG =
      "SELECT 1 FROM event_tag AS tag WHERE %stag.tag BETWEEN ? AND ? LIMIT ?\n";

  public static final String POSTPONE =
      """
      UPDATE event_tag SET tag = ?
      WHERE tag BETWEEN ? AND ?
        AND event_id IN (
          SELECT later.ordering FROM event_journal AS later
          WHERE later.persistence_id = ? AND later.sequence_number > ?)
      """;

  private SqlUpkeep() {}

  /**
   * The unfinished journals of shards, in ascending order of the shards. A cursor is a shard and
   * the number of a record.
   */
  public static List<Unfinished> working(
      Connection connection, SqlShards shards, List<Integer> asked, String after, int max)
      throws SQLException {
    Cursor cursor = Cursor.of(after);
    List<Unfinished> working = new ArrayList<>();
    for (Part part : cursor.parts(asked)) {
      int missing = max - working.size();
      if (missing == 0 || part.shards().isEmpty()) {
        continue;
      }
      working.addAll(
          shards.scan(
              connection,
              WORKING,
              row -> unfinished(shards, row.getLong(1), row.getString(2)),
              part.shards(),
              JournalTags.UNFINISHED,
              part.after(),
              missing));
    }
    return working;
  }

  private static Unfinished unfinished(SqlShards shards, long number, String persistenceId) {
    return new Unfinished(new Cursor(shards.of(persistenceId), number).text(), persistenceId);
  }

  /** The end of a page: a shard, and the number of a record in it. */
  private record Cursor(int shard, long number) {

    static Cursor of(String text) {
      int space = text.indexOf(' ');
      return space < 0
          ? new Cursor(-1, Long.MIN_VALUE)
          : new Cursor(
              Integer.parseInt(text.substring(0, space)),
              Long.parseLong(text.substring(space + 1)));
    }

    String text() {
      return shard + " " + number;
    }

    /** The rest of its shard, and the shards behind it. */
    List<Part> parts(List<Integer> shards) {
      return List.of(
          new Part(shards.stream().filter(each -> each == shard).toList(), number),
          new Part(shards.stream().filter(each -> each > shard).toList(), Long.MIN_VALUE));
    }
  }

  /** What is left of some shards. */
  private record Part(List<Integer> shards, long after) {}

  /** The journals that are due in a range of times. */
  static List<Due> due(Connection connection, SqlShards shards, long from, long until, int max)
      throws SQLException {
    List<Due> due =
        shards.scan(
            connection,
            DUE,
            row -> new Due(row.getString(1), JournalTags.dueAt(row.getString(2)).orElseThrow()),
            shards.inTurns(),
            JournalTags.due(from),
            JournalTags.due(until),
            max);
    // Those of several shards; within one they are in this order.
    due.sort(Comparator.comparingLong(Due::at));
    return due;
  }

  /**
   * A part of the upkeep, in a transaction of its own.
   *
   * @param swept how many journals it swept or deleted
   * @param more whether more is left
   */
  record Portion(int swept, boolean more) {

    static final Portion NOTHING = new Portion(0, false);

    Portion and(Portion other) {
      return new Portion(swept + other.swept, more || other.more);
    }
  }

  /** Whether the time of an end or of an expiry has come. */
  static boolean hasBacklog(Connection connection, SqlShards shards, long now) throws SQLException {
    return isTagged(connection, shards, JournalTags.sweep(0), JournalTags.sweep(now))
        || isTagged(connection, shards, JournalTags.forget(0), JournalTags.forget(now));
  }

  private static boolean isTagged(Connection connection, SqlShards shards, String from, String to)
      throws SQLException {
    return !shards
        .scan(connection, SOME_TAG, row -> row.getInt(1), shards.held(), from, to, 1)
        .isEmpty();
  }

  /**
   * Sweeps a part of the backlog.
   *
   * @param work finds the obsolete tags of unfinished work
   * @param most bounds how long other writers wait for it, in journals
   */
  static Portion sweep(
      Connection connection, SqlJournal journal, SqlObsoleteTags work, long now, int most)
      throws SQLException {
    SqlShards shards = journal.shards();
    shards.requireHeld(connection);
    String unfinished = JournalTags.UNFINISHED;
    Portion swept =
        forgetOver(connection, journal, now, most)
            .and(sweepEnds(connection, journal, now, most))
            .and(work.forget(connection, shards, unfinished, unfinished));
    journal.texts().settle(connection, List.of());
    return swept;
  }

  private static Portion sweepEnds(Connection connection, SqlJournal journal, long now, int most)
      throws SQLException {
    String from = JournalTags.sweep(0);
    String to = JournalTags.sweep(now);
    List<JournalEnd> found = ends(connection, journal.shards(), from, to, most);
    if (found.isEmpty()) {
      return Portion.NOTHING;
    }
    Map<String, SqlJournal.Promise> promises =
        promises(connection, journal, newest(found, Map.of()), now);
    postpone(connection, from, to, promises.values());
    List<JournalEnd> ends = newest(found, promises);
    journal.deleteBefore(connection, ends);
    return new Portion(ends.size(), found.size() == most);
  }

  private static List<JournalEnd> ends(
      Connection connection, SqlShards shards, String from, String to, int most)
      throws SQLException {
    return shards.scan(
        connection,
        ENDS,
        row -> new JournalEnd(row.getString(3), row.getLong(4), row.getLong(1), row.getString(2)),
        shards.inTurns(),
        from,
        to,
        most);
  }

  /**
   * The newest end of each journal that follows no end that is kept longer. The tags of older ends
   * are deleted with their events.
   */
  private static List<JournalEnd> newest(
      List<JournalEnd> ends, Map<String, SqlJournal.Promise> promises) {
    Map<String, JournalEnd> newest = new LinkedHashMap<>();
    for (JournalEnd end : ends) {
      SqlJournal.Promise promise = promises.get(end.persistenceId());
      if (promise == null || end.seq() <= promise.seq()) {
        newest.merge(
            end.persistenceId(), end, (one, other) -> one.seq() > other.seq() ? one : other);
      }
    }
    return List.copyOf(newest.values());
  }

  private static boolean hasLaterSweeps(Connection connection, SqlShards shards, long now)
      throws SQLException {
    return isTagged(
        connection, shards, JournalTags.sweep(now + 1), JournalTags.sweep(Long.MAX_VALUE));
  }

  /** Of each journal the first of the earlier ends that is kept for longer. */
  private static Map<String, SqlJournal.Promise> promises(
      Connection connection, SqlJournal journal, List<JournalEnd> ends, long now)
      throws SQLException {
    if (ends.isEmpty() || !hasLaterSweeps(connection, journal.shards(), now)) {
      return Map.of();
    }
    Map<String, SqlJournal.Promise> promises = new LinkedHashMap<>();
    for (SqlJournal.Promise promise :
        journal.promised(
            connection, ends, JournalTags.sweep(now + 1), JournalTags.sweep(Long.MAX_VALUE))) {
      promises.putIfAbsent(promise.persistenceId(), promise);
    }
    return promises;
  }

  private static void postpone(
      Connection connection, String from, String to, Collection<SqlJournal.Promise> promises)
      throws SQLException {
    Sql.updateAll(
        connection,
        POSTPONE,
        promises,
        after -> List.of(after.until(), from, to, after.persistenceId(), after.seq()));
  }

  /**
   * Deletes ends with everything before them. What was journaled after an end stays, but without
   * the snapshots, which contain it, too.
   */
  private static Portion forgetOver(Connection connection, SqlJournal journal, long now, int most)
      throws SQLException {
    String from = JournalTags.forget(0);
    String to = JournalTags.forget(now);
    List<JournalEnd> over = ends(connection, journal.shards(), from, to, most);
    Map<String, SqlJournal.Promise> promises =
        promises(connection, journal, over.stream().map(SqlUpkeep::including).toList(), now);
    List<JournalEnd> forgotten = new ArrayList<>();
    List<SqlJournal.Promise> postponed = new ArrayList<>();
    for (JournalEnd end : over) {
      SqlJournal.Promise promise = promises.get(end.persistenceId());
      if (promise == null || promise.seq() > end.seq()) {
        forgotten.add(end);
      } else {
        String later = JournalTags.forget(JournalTags.sweepAt(promise.until()).orElseThrow());
        postponed.add(new SqlJournal.Promise(end.persistenceId(), end.seq() - 1, later));
      }
    }
    postpone(connection, from, to, postponed);
    List<SqlEntries.UpTo> ends =
        newest(forgotten, Map.of()).stream()
            .map(end -> new SqlEntries.UpTo(end.persistenceId(), end.seq()))
            .toList();
    SqlEntries.forgetUpTo(connection, ends);
    return new Portion(ends.size(), over.size() == most);
  }

  /** Before what follows the end, as it may itself be kept for longer. */
  private static JournalEnd including(JournalEnd end) {
    return new JournalEnd(end.persistenceId(), end.seq() + 1, end.eventId(), end.tag());
  }
}
