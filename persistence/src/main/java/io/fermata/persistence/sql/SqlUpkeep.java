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
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The upkeep of journals: finding those that are unfinished or due, sweeping and expiring. */
public final class SqlUpkeep {

  private static final String LAST =
      """

        AND entry.deleted = FALSE
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = entry.persistence_id
            AND later.sequence_number > entry.sequence_number)""";

  public static final SqlShards.Scan WORKING =
      new SqlShards.Scan(
          "tag.event_id, entry.persistence_id",
          "tag.tag = ? AND tag.event_id > ?",
          LAST,
          "tag.event_id");

  public static final SqlShards.Scan DUE =
      new SqlShards.Scan(
          "entry.persistence_id, tag.tag",
          "tag.tag BETWEEN ? AND ?",
          LAST,
          "tag.tag, tag.event_id");

  public static final SqlShards.Scan ENDS =
      new SqlShards.Scan(
          "tag.event_id, tag.tag, entry.persistence_id, entry.sequence_number",
          "tag.tag BETWEEN ? AND ?",
          "",
          "tag.tag, tag.event_id");

  /** With a place for the condition of a shard. */
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
    return Sql.first(
            connection,
            shards.scan(SOME_TAG),
            row -> row.getInt(1),
            shards.parameters(shards.held(), from, to, 1))
        .isPresent();
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
    List<JournalEnd> over = over(connection, shards, now, most);
    int forgotten = forgetOver(connection, journal, over, now);
    List<JournalEnd> ended = ended(connection, shards, now, most);
    int swept = sweepEnds(connection, journal, ended, now);
    Portion done = new Portion(forgotten + swept, over.size() == most || ended.size() == most);
    Portion forgottenWork = forgetWork(connection, shards, work);
    journal.texts().settle(connection, List.of());
    return done.and(forgottenWork);
  }

  static Portion forgetWork(Connection connection, SqlShards shards, SqlObsoleteTags work)
      throws SQLException {
    return work.forget(connection, shards, JournalTags.UNFINISHED, JournalTags.UNFINISHED);
  }

  /** What is to be swept of one journal. */
  record Backlog(String persistenceId, List<JournalEnd> over, List<JournalEnd> ended) {}

  /** What is to be swept, so that each journal can be swept by itself. */
  static List<Backlog> backlog(Connection connection, SqlShards shards, long now, int most)
      throws SQLException {
    Map<String, List<JournalEnd>> over = byJournal(over(connection, shards, now, most));
    Map<String, List<JournalEnd>> ended = byJournal(ended(connection, shards, now, most));
    return Stream.concat(over.keySet().stream(), ended.keySet().stream())
        .distinct()
        .map(
            id ->
                new Backlog(
                    id, over.getOrDefault(id, List.of()), ended.getOrDefault(id, List.of())))
        .toList();
  }

  private static Map<String, List<JournalEnd>> byJournal(List<JournalEnd> ends) {
    return ends.stream()
        .collect(
            Collectors.groupingBy(
                JournalEnd::persistenceId, LinkedHashMap::new, Collectors.toList()));
  }

  /** Sweeps one journal, and returns whether it did as one or zero. */
  static int sweep(Connection connection, SqlJournal journal, Backlog backlog, long now)
      throws SQLException {
    journal.shards().require(connection, List.of(backlog.persistenceId()));
    int forgotten = forgetOver(connection, journal, backlog.over(), now);
    int swept = sweepEnds(connection, journal, backlog.ended(), now);
    journal.texts().settle(connection, List.of());
    return Math.max(forgotten, swept);
  }

  private static int sweepEnds(
      Connection connection, SqlJournal journal, List<JournalEnd> found, long now)
      throws SQLException {
    if (found.isEmpty()) {
      return 0;
    }
    Map<String, SqlJournal.Promise> promises =
        promises(connection, journal, newest(found, Map.of()), now);
    postpone(connection, JournalTags.sweep(0), JournalTags.sweep(now), promises.values());
    List<JournalEnd> ends = newest(found, promises);
    journal.deleteBefore(connection, ends);
    return ends.size();
  }

  /** The ends that have expired. */
  private static List<JournalEnd> over(Connection connection, SqlShards shards, long now, int most)
      throws SQLException {
    return ends(connection, shards, JournalTags.forget(0), JournalTags.forget(now), most);
  }

  /** The ends before which nothing is kept any more. */
  private static List<JournalEnd> ended(Connection connection, SqlShards shards, long now, int most)
      throws SQLException {
    return ends(connection, shards, JournalTags.sweep(0), JournalTags.sweep(now), most);
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
  private static int forgetOver(
      Connection connection, SqlJournal journal, List<JournalEnd> over, long now)
      throws SQLException {
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
    postpone(connection, JournalTags.forget(0), JournalTags.forget(now), postponed);
    List<SqlEntries.UpTo> ends =
        newest(forgotten, Map.of()).stream()
            .map(end -> new SqlEntries.UpTo(end.persistenceId(), end.seq()))
            .toList();
    SqlEntries.forgetUpTo(connection, ends);
    return ends.size();
  }

  /** Before what follows the end, as it may itself be kept for longer. */
  private static JournalEnd including(JournalEnd end) {
    return new JournalEnd(end.persistenceId(), end.seq() + 1, end.eventId(), end.tag());
  }
}
