package io.fermata.persistence.sql;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A pool of connections, each with its own thread. */
public final class SqlPool implements Transactions {

  private static final int MOST_WAITING = 20_000;
  private static final int LAST_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(SqlPool.class);

  private final HikariDataSource source;
  private final LongSupplier incarnation;
  private final ThreadPoolExecutor threads;

  private SqlPool(HikariDataSource source, LongSupplier incarnation) {
    this.source = source;
    this.incarnation = incarnation;
    this.threads = threads(source.getPoolName(), source.getMaximumPoolSize());
  }

  /** Of a database that is never replaced. */
  public static SqlPool over(HikariDataSource source) {
    return over(source, () -> 0);
  }

  /**
   * Of a database whose server may be replaced.
   *
   * @param incarnation has changed before there is a connection to a server that was restarted or
   *     replaced; what waited for it rests on what the server before knew, and fails
   */
  public static SqlPool over(HikariDataSource source, LongSupplier incarnation) {
    return new SqlPool(source, incarnation);
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
    Task<T> task = new Task<>(work);
    try {
      threads.execute(task);
      return task.done;
    } catch (RejectedExecutionException refused) {
      return CompletableFuture.failedFuture(
          threads.isShutdown()
              ? closing()
              : new StoreException(
                  MOST_WAITING + " requests are waiting for the store; retry later", refused));
    }
  }

  private static StoreException closing() {
    return new StoreException("The store is closing; open it again");
  }

  private <T> T now(Function<Connection, T> work, long asked) {
    Connection connection = connection();
    try {
      requireUnreplaced(asked);
      return work.apply(connection);
    } catch (RuntimeException failed) {
      if (leftInTransaction(connection)) {
        source.evictConnection(connection);
      }
      throw failed;
    } finally {
      giveBack(connection);
    }
  }

  private Connection connection() {
    try {
      return source.getConnection();
    } catch (SQLException failed) {
      throw Transactions.failed(failed);
    }
  }

  private void requireUnreplaced(long asked) {
    if (incarnation.getAsLong() != asked) {
      throw new ReplacedException();
    }
  }

  /** The result of the work is valid, even if its connection cannot be closed. */
  private void giveBack(Connection connection) {
    try {
      connection.close();
    } catch (SQLException broken) {
      LOG.warn("{} lost a connection while returning it", source.getPoolName(), broken);
    }
  }

  /**
   * After a transaction that was neither committed nor rolled back, the next work would join it.
   */
  private static boolean leftInTransaction(Connection connection) {
    try {
      return !connection.getAutoCommit();
    } catch (SQLException gone) {
      return true;
    }
  }

  /** Work that waits for a connection. */
  private final class Task<T> implements Runnable {

    private final Function<Connection, T> work;
    private final long asked = incarnation.getAsLong();
    private final CompletableFuture<T> done = new CompletableFuture<>();

    Task(Function<Connection, T> work) {
      this.work = work;
    }

    @Override
    public void run() {
      try {
        done.complete(now(work, asked));
      } catch (RuntimeException | Error failed) {
        done.completeExceptionally(failed);
      }
    }

    void drop() {
      done.completeExceptionally(closing());
    }
  }

  /**
   * Its load, for meters.
   *
   * @param batched requests that wait for a batch on this pool
   */
  public StorePool load(String name, IntSupplier... batched) {
    return new Load(name, source.getHikariPoolMXBean(), threads, List.of(batched));
  }

  private record Load(
      String name,
      HikariPoolMXBean connections,
      ThreadPoolExecutor threads,
      List<IntSupplier> batched)
      implements StorePool {

    @Override
    public int used() {
      return connections.getActiveConnections();
    }

    @Override
    public int idle() {
      return connections.getIdleConnections();
    }

    @Override
    public int waiting() {
      return threads.getQueue().size()
          + connections.getThreadsAwaitingConnection()
          + batched.stream().mapToInt(IntSupplier::getAsInt).sum();
    }
  }

  /** Completes waiting work, then closes. */
  public void close() {
    threads.shutdown();
    try {
      if (!threads.awaitTermination(LAST_SECONDS, TimeUnit.SECONDS)) {
        LOG.warn("{} is closed while requests are waiting; they are dropped", source.getPoolName());
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      for (Runnable dropped : threads.shutdownNow()) {
        ((Task<?>) dropped).drop();
      }
      source.close();
    }
  }
}
