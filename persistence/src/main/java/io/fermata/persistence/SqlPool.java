package io.fermata.persistence;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Connections to a database, each with a thread of its own. */
final class SqlPool implements Transactions {

  private static final int MOST_WAITING = 20_000;
  private static final int LAST_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(SqlPool.class);

  private final HikariDataSource source;
  private final ThreadPoolExecutor threads;

  private SqlPool(HikariDataSource source, ThreadPoolExecutor threads) {
    this.source = source;
    this.threads = threads;
  }

  static SqlPool connect(HikariConfig pool) {
    return over(new HikariDataSource(pool));
  }

  static SqlPool over(HikariDataSource source) {
    return new SqlPool(source, threads(source.getPoolName(), source.getMaximumPoolSize()));
  }

  private static ThreadPoolExecutor threads(String name, int connections) {
    return new ThreadPoolExecutor(
        connections,
        connections,
        0,
        TimeUnit.SECONDS,
        new ArrayBlockingQueue<>(MOST_WAITING),
        task -> {
          Thread thread = new Thread(task, name);
          thread.setDaemon(true);
          return thread;
        });
  }

  @Override
  public <T> CompletableFuture<T> transact(Work<T> work) {
    return onConnection(connection -> Transactions.transact(connection, work));
  }

  @Override
  public <T> CompletableFuture<T> query(Work<T> work) {
    return onConnection(connection -> Transactions.query(connection, work));
  }

  private <T> CompletableFuture<T> onConnection(Function<Connection, T> work) {
    try {
      return CompletableFuture.supplyAsync(() -> now(work), threads);
    } catch (RejectedExecutionException refused) {
      return CompletableFuture.failedFuture(
          new StoreException(
              threads.isShutdown()
                  ? "The store is closing; open it again"
                  : MOST_WAITING + " requests are waiting for the store; ask again later",
              refused));
    }
  }

  private <T> T now(Function<Connection, T> work) {
    try (Connection connection = source.getConnection()) {
      return work.apply(connection);
    } catch (SQLException failed) {
      throw Transactions.failed(failed);
    }
  }

  /** Lets what waits finish. */
  void close() {
    threads.shutdown();
    try {
      if (!threads.awaitTermination(LAST_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("{} is closed while requests are waiting, they are dropped", source.getPoolName());
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      threads.shutdownNow();
      source.close();
    }
  }
}
