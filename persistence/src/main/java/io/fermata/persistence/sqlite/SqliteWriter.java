package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.SqlPool;
import io.fermata.persistence.sql.Transactions;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import org.sqlite.SQLiteConnection;
import org.sqlite.SQLiteErrorCode;

/**
 * The only connection that writes, used as long as the path of the file leads to it. If another
 * program holds SQLite's write lock, one request waits for it a little; those after it fail at once
 * until one succeeds.
 */
final class SqliteWriter implements Transactions {

  private static final int WAIT_MILLIS = SqliteConnections.BUSY_MILLIS;
  private static final int LOCKED_MILLIS = 20;

  private final SqliteFile file;
  private final SqlPool connection;
  private final InodeClaim inode;
  private final SqliteLog log;

  /** Used by the thread of the connection only. */
  private boolean locked;

  private boolean rescued;

  SqliteWriter(SqliteFile file, SqlPool connection, InodeClaim inode, SqliteLog log) {
    this.file = file;
    this.connection = connection;
    this.inode = inode;
    this.log = log;
  }

  @Override
  public <T> CompletableFuture<T> transact(Work<T> work) {
    return connection.query(
        on -> {
          try {
            return Transactions.transact(on, checked(work));
          } catch (StoreException failed) {
            throw failed.problem() == StoreProblem.FULL ? full(failed) : failed;
          }
        });
  }

  /** SQLite may notice it only at the end of a transaction. */
  private StoreException full(StoreException failed) {
    return new StoreException(
        StoreProblem.FULL,
        "The disk of " + file.name() + " is full; free space on it. " + failed.getMessage(),
        failed);
  }

  @Override
  public <T> CompletableFuture<T> query(Work<T> work) {
    return connection.query(checked(work));
  }

  StorePool load(String name, IntSupplier... batched) {
    return connection.load(name, batched);
  }

  void close() {
    connection.close();
  }

  private <T> Work<T> checked(Work<T> work) {
    return on -> {
      requireReachable();
      SQLiteConnection sqlite = on.unwrap(SQLiteConnection.class);
      long before = sqlite.getDatabase().total_changes();
      T result = done(on, work);
      if (sqlite.getDatabase().total_changes() != before) {
        lock(on, false);
        log.written();
      }
      return result;
    };
  }

  /** If only the log is gone, what was acknowledged is copied into the file from the open log. */
  @SuppressWarnings("FutureReturnValueIgnored") // closing retries
  private void requireReachable() {
    try {
      inode.requireReachable();
    } catch (StoreException refused) {
      if (refused.problem() == StoreProblem.LOG_GONE && !rescued) {
        rescued = true;
        connection.query(on -> SqliteLog.empty(on, 0));
      }
      throw refused;
    }
  }

  private <T> T done(Connection on, Work<T> work) throws SQLException {
    try {
      return work.on(on);
    } catch (SQLException failed) {
      if (!SqliteFailure.is(failed, SQLiteErrorCode.SQLITE_BUSY)) {
        throw failed;
      }
      lock(on, true);
      throw new StoreException(
          StoreProblem.LOCKED,
          "Another program holds the write lock of "
              + file.name()
              + " (SQLITE_BUSY); nothing of this request was written. End that program or its"
              + " transaction, and retry",
          failed);
    }
  }

  private void lock(Connection on, boolean now) throws SQLException {
    if (locked != now) {
      locked = now;
      on.unwrap(SQLiteConnection.class).setBusyTimeout(now ? LOCKED_MILLIS : WAIT_MILLIS);
    }
  }
}
