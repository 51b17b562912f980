package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.Verified;
import io.fermata.persistence.sql.SqlVerification;
import java.nio.file.Files;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.sqlite.ProgressHandler;
import org.sqlite.SQLiteErrorCode;

/** Checks the file of a SQLite store: its structure, and what is in it. */
final class SqliteVerification {

  /** How many steps of SQLite between two looks at the clock. */
  private static final int STEPS = 10_000;

  private SqliteVerification() {}

  /** Verifies the whole file, which a host may have open. */
  static Verified of(SqliteFile file, Consumer<String> damage) {
    if (!Files.exists(file.path())) {
      throw new StoreException(file.name() + " does not exist; name the file of a store");
    }
    try (Connection connection = file.reading().getConnection()) {
      SqliteSchema.requireStore(file, connection);
      List<String> found = structure(connection, "integrity_check");
      found.forEach(each -> damage.accept("The file is damaged: " + each));
      Verified verified = SqlVerification.of(connection, new SqliteJournal(), damage);
      return new Verified(
          verified.journals(), verified.entries(), verified.damages() + found.size());
    } catch (SQLException failed) {
      throw SqliteFailure.explain(file, failed);
    }
  }

  /**
   * Checks the structure of the file for a limited time, so that a large one does not delay a
   * start.
   */
  static void quickly(SqliteFile file, Connection connection, long millis) throws SQLException {
    long end = System.nanoTime() + millis * 1_000_000;
    ProgressHandler.setHandler(
        connection,
        STEPS,
        new ProgressHandler() {
          @Override
          protected int progress() {
            return System.nanoTime() < end ? 0 : 1;
          }
        });
    try {
      List<String> found = structure(connection, "quick_check");
      if (!found.isEmpty()) {
        throw new StoreException(
            file.name() + " is damaged (" + found.get(0) + "); restore it from a backup");
      }
    } finally {
      ProgressHandler.clearHandler(connection);
    }
  }

  /** What a check finds, until it ends or its time is up. */
  private static List<String> structure(Connection connection, String check) throws SQLException {
    List<String> found = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("PRAGMA " + check)) {
      while (rows.next()) {
        if (!rows.getString(1).equals("ok")) {
          found.add(rows.getString(1).replace('\n', ' '));
        }
      }
    } catch (SQLException failed) {
      if (SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_CORRUPT)) {
        found.add(String.valueOf(failed.getMessage()));
      } else if (!SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_INTERRUPT)) {
        throw failed;
      }
    }
    return found;
  }
}
