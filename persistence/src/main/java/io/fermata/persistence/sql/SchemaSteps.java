package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * The statements that migrate the tables from each version to the next, starting with no tables.
 */
public record SchemaSteps(List<List<String>> steps) {

  private static final String VERSION = "schema_version";

  /** A step of several parts. */
  @SafeVarargs
  public static List<String> step(List<String>... parts) {
    List<String> step = new ArrayList<>();
    for (List<String> part : parts) {
      step.addAll(part);
    }
    return List.copyOf(step);
  }

  public int newest() {
    return steps.size();
  }

  /**
   * Refuses tables of a newer Fermata.
   *
   * @param place what to choose instead: file or database
   */
  public void requireKnown(String name, int version, String place) {
    if (version > newest()) {
      throw new StoreException(
          name
              + " was written by a newer Fermata (schema "
              + version
              + ", this one knows up to "
              + newest()
              + "); upgrade Fermata or choose another "
              + place);
    }
  }

  /** The version of the tables that are there. */
  public static int version(Connection connection, String name) throws SQLException {
    return SqlMeta.get(connection, VERSION, row -> row.getInt(1))
        .orElseThrow(
            () ->
                new StoreException(
                    name + " is damaged: it has no schema version; restore it from a backup"));
  }

  /**
   * Brings the tables up to date, within the transaction of the connection.
   *
   * @param written how the database keeps a version
   */
  public void migrate(Connection connection, int version, IntFunction<Object> written)
      throws SQLException {
    if (version == newest()) {
      return;
    }
    try (Statement statement = connection.createStatement()) {
      for (List<String> step : steps.subList(version, newest())) {
        for (String sql : step) {
          statement.execute(sql);
        }
      }
    }
    SqlMeta.put(connection, VERSION, written.apply(newest()));
  }
}
