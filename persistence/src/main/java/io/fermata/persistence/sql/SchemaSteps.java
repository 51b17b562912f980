package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/**
 * The statements that migrate the tables from each version to the next, starting with no tables.
 */
public record SchemaSteps(List<List<String>> steps) {

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

  /** Migrates the tables, within the transaction of the connection. */
  public void migrate(Connection connection, int version) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      for (List<String> step : steps.subList(version, newest())) {
        for (String sql : step) {
          statement.execute(sql);
        }
      }
    }
  }
}
