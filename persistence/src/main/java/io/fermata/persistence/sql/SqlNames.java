package io.fermata.persistence.sql;

import io.fermata.persistence.directory.DirectoryEntry;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds journals by the part of their names after the first bar. It skips through the index of
 * names from prefix to prefix, however many names share one.
 */
public final class SqlNames {

  private static final List<String> TABLES = List.of("event_journal", "snapshot", "directory");

  private static final char BAR = '|';

  /** The successors of the bar, and of every character of a name, in index order. */
  private static final char BEHIND_BAR = '}';

  private static final char BEHIND_ALL = '\u007f';

  public static final String NEXT =
      "SELECT min(persistence_id) FROM %s WHERE" + " persistence_id >= ?";

  public static final String WITHIN =
      "SELECT DISTINCT persistence_id FROM %s WHERE persistence_id >= ? AND persistence_id < ?";

  private SqlNames() {}

  static List<String> named(Connection connection, String place) throws SQLException {
    SortedSet<String> found = new TreeSet<>();
    for (String table : TABLES) {
      String from = "";
      for (String next = next(connection, table, from);
          next != null;
          next = next(connection, table, from)) {
        int bar = next.indexOf(BAR);
        if (bar < 0) {
          from = next + '\u0001';
        } else {
          String kind = next.substring(0, bar);
          addWithin(connection, table, kind + BAR + place, found);
          from = kind + BEHIND_BAR;
        }
      }
    }
    return List.copyOf(found);
  }

  private static @Nullable String next(Connection connection, String table, String from)
      throws SQLException {
    return Sql.first(connection, NEXT.formatted(table), row -> row.getString(1), from).orElse(null);
  }

  private static void addWithin(
      Connection connection, String table, String beginning, SortedSet<String> found)
      throws SQLException {
    found.addAll(
        Sql.list(
            connection,
            WITHIN.formatted(table),
            row -> DirectoryEntry.journalOf(row.getString(1)),
            beginning,
            beginning + BEHIND_ALL));
  }
}
