package io.fermata.persistence;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections to a SQLite file that only read, each with a thread of its own. With a write-ahead
 * log they see what was committed when they began, and neither wait for a writer nor hold one up.
 */
final class SqliteReaders {

  private static final String NAME = "fermata-sqlite-read";

  /** One more than a long search can occupy. */
  private static final int CONNECTIONS = 2;

  private static final int WAITING_READS = 20_000;
  private static final int LAST_READS_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(SqliteReaders.class);

  private final HikariDataSource source;
  private final ThreadPoolExecutor threads;

  private SqliteReaders(HikariDataSource source, ThreadPoolExecutor threads) {
    this.source = source;
    this.threads = threads;
  }

  static SqliteReaders connect(SqliteFile file) {
    var pool = SqliteDatabase.pool(file, NAME, CONNECTIONS);
    pool.setConnectionInitSql("PRAGMA query_only = ON");
    return new SqliteReaders(new HikariDataSource(pool), threads());
  }

  private static ThreadPoolExecutor threads() {
    return new ThreadPoolExecutor(
        CONNECTIONS,
        CONNECTIONS,
        0,
        TimeUnit.SECONDS,
        new ArrayBlockingQueue<>(WAITING_READS),
        task -> {
          Thread thread = new Thread(task, NAME);
          thread.setDaemon(true);
          return thread;
        });
  }

  /** Reads one state of the file, however many statements that takes. */
  <T> CompletableFuture<T> read(SqliteDatabase.Work<T> work) {
    try {
      return CompletableFuture.supplyAsync(() -> now(work), threads);
    } catch (RejectedExecutionException refused) {
      return CompletableFuture.failedFuture(
          new StoreException(
              threads.isShutdown()
                  ? "The store is closing; open it again"
                  : WAITING_READS + " reads are waiting for the store; read again later",
              refused));
    }
  }

  private <T> T now(SqliteDatabase.Work<T> work) {
    try (Connection connection = source.getConnection()) {
      return SqliteDatabase.transaction(connection, work);
    } catch (SQLException failed) {
      throw SqliteDatabase.failed(failed);
    }
  }

  /** Lets what waits finish. */
  void close() {
    threads.shutdown();
    try {
      if (!threads.awaitTermination(LAST_READS_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("{} is closed while reads are waiting, they are dropped", NAME);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      threads.shutdownNow();
      source.close();
    }
  }
}
