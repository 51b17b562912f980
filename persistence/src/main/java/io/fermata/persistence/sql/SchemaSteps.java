package io.fermata.persistence.sql;

import io.fermata.persistence.spi.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** The statements that lead from each version of the tables to the next, beginning with none. */
public record SchemaSteps(List<List<String>> steps) {

  public int newest() {
    return steps.size();
  }

  /**
   * Refuses tables that a later Fermata made.
   *
   * @param place what may be chosen instead: another file, another database
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

  /** Brings the tables up to date, in the transaction of that connection. */
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
