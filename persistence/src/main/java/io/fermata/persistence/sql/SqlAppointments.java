package io.fermata.persistence.sql;

import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;

/** Finds the journals that are due. */
public final class SqlAppointments {

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

  private SqlAppointments() {}

  static List<Due> due(Connection connection, SqlShards shards, long until, int max)
      throws SQLException {
    List<Due> due =
        shards.scan(
            connection,
            DUE,
            row -> new Due(row.getString(1), JournalTags.dueAt(row.getString(2)).orElseThrow()),
            shards.inTurns(),
            JournalTags.due(0),
            JournalTags.due(until),
            max);
    // Those of several shards; within one they are in this order.
    due.sort(Comparator.comparingLong(Due::at));
    return due;
  }

  /**
   * Deletes some due tags of the past that later records made obsolete.
   *
   * @param times finds them
   */
  static SqlUpkeep.Portion forget(
      Connection connection, SqlShards shards, SqlObsoleteTags times, long until)
      throws SQLException {
    return times.forget(connection, shards, JournalTags.due(0), JournalTags.due(until));
  }
}
