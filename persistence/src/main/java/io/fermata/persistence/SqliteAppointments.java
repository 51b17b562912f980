package io.fermata.persistence;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Which journals are to be looked at again, and when. */
final class SqliteAppointments {

  /** Bounds how long writers wait for one look. */
  private static final int FORGOTTEN_AT_ONCE = 10_000;

  static final String DUE =
      """
      SELECT last.persistence_id, tag.tag
      FROM event_tag AS tag JOIN event_journal AS last ON last.ordering = tag.event_id
      WHERE tag.tag BETWEEN ? AND ?
        AND last.deleted = 0
        AND NOT EXISTS (
          SELECT 1 FROM event_journal AS later
          WHERE later.persistence_id = last.persistence_id
            AND later.sequence_number > last.sequence_number)
      ORDER BY tag.tag, tag.event_id
      LIMIT ?
      """;

  static final String FORGET =
      """
      DELETE FROM event_tag WHERE (event_id, tag) IN (
        SELECT tag.event_id, tag.tag
        FROM event_tag AS tag JOIN event_journal AS past ON past.ordering = tag.event_id
        WHERE tag.tag BETWEEN ? AND ?
          AND EXISTS (
            SELECT 1 FROM event_journal AS later
            WHERE later.persistence_id = past.persistence_id
              AND later.sequence_number > past.sequence_number)
        LIMIT %d)
      """
          .formatted(FORGOTTEN_AT_ONCE);

  private SqliteAppointments() {}

  static List<Due> due(Connection connection, long until, int max) throws SQLException {
    forget(connection, until);
    try (PreparedStatement select = connection.prepareStatement(DUE)) {
      select.setString(1, JournalTags.due(0));
      select.setString(2, JournalTags.due(until));
      select.setInt(3, max);
      try (ResultSet rows = select.executeQuery()) {
        List<Due> due = new ArrayList<>();
        while (rows.next()) {
          due.add(new Due(rows.getString(1), JournalTags.dueAt(rows.getString(2)).orElseThrow()));
        }
        return due;
      }
    }
  }

  /** A record that is not the last will never be the last again, so its time means nothing. */
  private static void forget(Connection connection, long until) throws SQLException {
    try (PreparedStatement delete = connection.prepareStatement(FORGET)) {
      delete.setString(1, JournalTags.due(0));
      delete.setString(2, JournalTags.due(until));
      delete.executeUpdate();
    }
  }
}
