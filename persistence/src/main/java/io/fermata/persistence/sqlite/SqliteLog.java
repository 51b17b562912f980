package io.fermata.persistence.sqlite;

import io.fermata.persistence.sql.Transactions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.sqlite.SQLiteConnection;

/**
 * Empties the write-ahead log of a SQLite file, which otherwise keeps deleted content, and as much
 * of it as there ever was: a moment after a write, and when it has become large. A reader that
 * still needs the log is not waited for; it is emptied a moment later.
 */
final class SqliteLog {

  /** A larger log is emptied at once, and a little is waited for readers. */
  static final long BOUND = 16 * 1024 * 1024;

  private static final long AGAIN = BOUND / 4;
  private static final int SHORT_MILLIS = 100;

  private final Path log;
  private final Transactions writer;
  private final Executor later;
  private final AtomicBoolean scheduled = new AtomicBoolean();
  private volatile long bound = BOUND;

  /**
   * @param later runs a task after a moment
   */
  SqliteLog(SqliteFile file, Transactions writer, Executor later) {
    this.log = Path.of(file.path() + "-wal");
    this.writer = writer;
    this.later = later;
  }

  /** Something was written, on the thread of the writer. */
  @SuppressWarnings("FutureReturnValueIgnored") // the next write retries
  void written() {
    emptyLater();
    if (size() >= bound) {
      bound = Long.MAX_VALUE;
      writer
          .query(connection -> empty(connection, SHORT_MILLIS))
          .whenComplete(
              (emptied, failure) ->
                  bound = Boolean.TRUE.equals(emptied) ? BOUND : Math.max(BOUND, size() + AGAIN));
    }
  }

  private void emptyLater() {
    if (scheduled.compareAndSet(false, true)) {
      later.execute(this::emptyNow);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the next write retries
  private void emptyNow() {
    scheduled.set(false);
    writer
        .query(connection -> empty(connection, 0))
        .thenAccept(
            emptied -> {
              if (!emptied) {
                emptyLater();
              }
            });
  }

  private long size() {
    try {
      return Files.size(log);
    } catch (IOException gone) {
      return 0;
    }
  }

  /**
   * Copies the log into the file and truncates it.
   *
   * @param waitMillis how long readers are waited for
   * @return whether it is empty
   */
  static boolean empty(Connection connection, int waitMillis) throws SQLException {
    SQLiteConnection sqlite = connection.unwrap(SQLiteConnection.class);
    int before = sqlite.getBusyTimeout();
    sqlite.setBusyTimeout(waitMillis);
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("PRAGMA wal_checkpoint(TRUNCATE)")) {
      return row.getInt("busy") == 0;
    } finally {
      sqlite.setBusyTimeout(before);
    }
  }
}
