package io.fermata.persistence.sql;

import io.fermata.persistence.spi.JournalEnd;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.Unfinished;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The upkeep of journals: finding unfinished ones, sweeping and expiring. */
public final class SqlUpkeep {

  /** Tags are small; this many are deleted like one journal. */
  private static final int TAGS_PER_JOURNAL = 10;

  public static final String WORKING =
      """
      SELECT tag.event_id, last.persistence_id
      FROM event_tag AS tag JOIN event_journal AS last ON last.ordering = tag.event_id
      WHERE tag.tag = ? AND tag.event_id > ?
        AND last.deleted = FALSE
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = last.persistence_id
            AND later.sequence_number > last.sequence_number)
      ORDER BY tag.event_id
      LIMIT ?
      """;

  public static final String FORGET_LEFT_BEHIND =
      """
      DELETE FROM event_tag WHERE (event_id, tag) IN (
        SELECT tag.event_id, tag.tag
        FROM event_tag AS tag JOIN event_journal AS past ON past.ordering = tag.event_id
        WHERE tag.tag BETWEEN ? AND ?
          AND EXISTS (
            SELECT 1 FROM event_journal AS later
            WHERE later.persistence_id = past.persistence_id
              AND later.sequence_number > past.sequence_number)
        LIMIT ?)
      """;

  public static final String LAST_OF_SWEEP =
      """
      SELECT max(tag), count(*) FROM (
        SELECT tag FROM event_tag WHERE tag BETWEEN ? AND ? ORDER BY tag LIMIT ?) AS ends
      """;

  public static final String ENDS =
      """
      SELECT tag.event_id, tag.tag, ended.persistence_id, ended.sequence_number
      FROM event_tag AS tag JOIN event_journal AS ended ON ended.ordering = tag.event_id
      WHERE tag.tag BETWEEN ? AND ?
      ORDER BY tag.tag, tag.event_id
      LIMIT ?
      """;

  public static final String SOME_TAG =
      "SELECT 1 FROM event_tag WHERE tag BETWEEN ? AND" + " ? LIMIT 1";

  /** Only the newest end of each journal: joining every end would read a journal once per run. */
  private static final String NEWEST_ENDS =
      """
      SELECT ended.persistence_id, max(ended.sequence_number) AS sequence_number
      FROM event_tag AS tag JOIN event_journal AS ended ON ended.ordering = tag.event_id
      WHERE tag.tag BETWEEN ? AND ?
      GROUP BY ended.persistence_id
      """;

  /** Ends that are not due and precede one that is. */
  public static final String PROMISED =
      """
      SELECT newest_end.persistence_id, promised.sequence_number, until.tag
      FROM (%s) AS newest_end CROSS JOIN event_journal AS promised CROSS JOIN event_tag AS until
      WHERE promised.persistence_id = newest_end.persistence_id
        AND promised.sequence_number < newest_end.sequence_number
        AND until.event_id = promised.ordering
        AND until.tag BETWEEN ? AND ?
      ORDER BY newest_end.persistence_id, promised.sequence_number
      """
          .formatted(NEWEST_ENDS);

  public static final String PROMISED_OF_JOURNAL =
      """
      SELECT max(until.tag)
      FROM event_journal AS promised CROSS JOIN event_tag AS until
      WHERE promised.persistence_id = ?
        AND until.event_id = promised.ordering
        AND until.tag BETWEEN ? AND ?
      """;

  public static final String POSTPONE =
      """
      UPDATE event_tag SET tag = ?
      WHERE tag BETWEEN ? AND ?
        AND event_id IN (
          SELECT later.ordering FROM event_journal AS later
          WHERE later.persistence_id = ? AND later.sequence_number > ?)
      """;

  /** The journals to delete as a whole, with the sequence number of their last record. */
  public static final String OVER =
      """
      SELECT last.persistence_id, last.sequence_number
      FROM event_tag AS tag JOIN event_journal AS last ON last.ordering = tag.event_id
      WHERE tag.tag BETWEEN ? AND ?
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = last.persistence_id
            AND later.sequence_number > last.sequence_number)
      ORDER BY tag.tag
      LIMIT ?
      """;

  private SqlUpkeep() {}

  /** The numbers of records are the cursors. */
  static List<Unfinished> working(Connection connection, String after, int max)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(WORKING)) {
      select.setString(1, JournalTags.UNFINISHED);
      select.setLong(2, after.isEmpty() ? Long.MIN_VALUE : Long.parseLong(after));
      select.setInt(3, max);
      try (ResultSet rows = select.executeQuery()) {
        List<Unfinished> working = new ArrayList<>();
        while (rows.next()) {
          working.add(new Unfinished(rows.getString(1), rows.getString(2)));
        }
        return working;
      }
    }
  }

  /**
   * Deletes the tags in a range from records that are not the last of their journal. Such a record
   * will never be the last again, so its tags are obsolete.
   */
  static Portion forgetLeftBehind(Connection connection, String from, String to, int most)
      throws SQLException {
    int tags = most * TAGS_PER_JOURNAL;
    try (PreparedStatement delete = connection.prepareStatement(FORGET_LEFT_BEHIND)) {
      delete.setString(1, from);
      delete.setString(2, to);
      delete.setInt(3, tags);
      return new Portion(0, delete.executeUpdate() == tags);
    }
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

  /**
   * Sweeps a part of the backlog.
   *
   * @param most bounds how long other writers wait for it, in journals
   */
  static Portion sweep(Connection connection, SqlJournal journal, long now, int most)
      throws SQLException {
    String unfinished = JournalTags.UNFINISHED;
    return sweepEnds(connection, journal, now, most)
        .and(forgetLeftBehind(connection, unfinished, unfinished, most))
        .and(forgetOver(connection, now, most));
  }

  private static Portion sweepEnds(Connection connection, SqlJournal journal, long now, int most)
      throws SQLException {
    LastOfSweep found = lastOfSweep(connection, JournalTags.sweep(now), most);
    String last = found.tag();
    if (last == null) {
      return Portion.NOTHING;
    }
    String laterThanNow = JournalTags.sweep(now + 1);
    if (hasTag(connection, laterThanNow, JournalTags.sweep(Long.MAX_VALUE))) {
      postponeEnds(connection, now, last);
    }
    List<JournalEnd> ends = newestEnds(connection, last, most);
    journal.deleteBefore(connection, ends);
    return new Portion(ends.size(), found.count() == most);
  }

  private static boolean hasTag(Connection connection, String from, String to) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(SOME_TAG)) {
      select.setString(1, from);
      select.setString(2, to);
      try (ResultSet row = select.executeQuery()) {
        return row.next();
      }
    }
  }

  /** The tags of older ends are deleted with their events. */
  private static List<JournalEnd> newestEnds(Connection connection, String last, int most)
      throws SQLException {
    Map<String, JournalEnd> newest = new LinkedHashMap<>();
    try (PreparedStatement select = connection.prepareStatement(ENDS)) {
      select.setString(1, JournalTags.sweep(0));
      select.setString(2, last);
      select.setInt(3, most);
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          newest.merge(
              rows.getString(3),
              new JournalEnd(
                  rows.getString(3), rows.getLong(4), rows.getLong(1), rows.getString(2)),
              (one, other) -> one.seq() > other.seq() ? one : other);
        }
      }
    }
    return List.copyOf(newest.values());
  }

  /** Postpones an end that follows one with a longer retention. */
  private static void postponeEnds(Connection connection, long now, String last)
      throws SQLException {
    List<Promised> promises = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(PROMISED)) {
      select.setString(1, JournalTags.sweep(0));
      select.setString(2, last);
      select.setString(3, JournalTags.sweep(now + 1));
      select.setString(4, JournalTags.sweep(Long.MAX_VALUE));
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          promises.add(new Promised(rows.getString(1), rows.getLong(2), rows.getString(3)));
        }
      }
    }
    for (Promised promised : promises) {
      postpone(connection, JournalTags.sweep(0), last, promised);
    }
  }

  private static void postpone(Connection connection, String from, String to, Promised after)
      throws SQLException {
    try (PreparedStatement update = connection.prepareStatement(POSTPONE)) {
      update.setString(1, after.until());
      update.setString(2, from);
      update.setString(3, to);
      update.setString(4, after.persistenceId());
      update.setLong(5, after.seq());
      update.executeUpdate();
    }
  }

  private static LastOfSweep lastOfSweep(Connection connection, String now, int most)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(LAST_OF_SWEEP)) {
      select.setString(1, JournalTags.sweep(0));
      select.setString(2, now);
      select.setInt(3, most);
      try (ResultSet row = select.executeQuery()) {
        return row.next()
            ? new LastOfSweep(row.getString(1), row.getInt(2))
            : new LastOfSweep(null, 0);
      }
    }
  }

  /** The last of a number of sweep tags, the earliest first. */
  private record LastOfSweep(@Nullable String tag, int count) {}

  /** A run that starts meanwhile stays, as does everything journaled after the end. */
  private static Portion forgetOver(Connection connection, long now, int most) throws SQLException {
    String from = JournalTags.forget(0);
    String to = JournalTags.forget(now);
    Portion leftBehind = forgetLeftBehind(connection, from, to, most);
    List<Over> over = new ArrayList<>();
    try (PreparedStatement select = connection.prepareStatement(OVER)) {
      select.setString(1, from);
      select.setString(2, to);
      select.setInt(3, most);
      try (ResultSet rows = select.executeQuery()) {
        while (rows.next()) {
          over.add(new Over(rows.getString(1), rows.getLong(2)));
        }
      }
    }
    int forgotten = 0;
    for (Over journal : over) {
      String until = promised(connection, journal.persistenceId(), now);
      if (until == null) {
        SqlEntries.forget(connection, List.of(journal.persistenceId()), journal.lastSeq());
        forgotten++;
      } else {
        String later = JournalTags.forget(JournalTags.upkeepAt(until).orElseThrow());
        postpone(
            connection,
            from,
            to,
            new Promised(journal.persistenceId(), journal.lastSeq() - 1, later));
      }
    }
    return leftBehind.and(new Portion(forgotten, over.size() == most));
  }

  /** The latest retention of an end of a journal that is still in the future. */
  private static @Nullable String promised(Connection connection, String persistenceId, long now)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(PROMISED_OF_JOURNAL)) {
      select.setString(1, persistenceId);
      select.setString(2, JournalTags.sweep(now + 1));
      select.setString(3, JournalTags.sweep(Long.MAX_VALUE));
      try (ResultSet row = select.executeQuery()) {
        return row.next() ? row.getString(1) : null;
      }
    }
  }

  private record Over(String persistenceId, long lastSeq) {}

  /** Ends after a record are postponed until a time. */
  private record Promised(String persistenceId, long seq, String until) {}
}
