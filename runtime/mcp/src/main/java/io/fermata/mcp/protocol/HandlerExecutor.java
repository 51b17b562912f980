package io.fermata.mcp.protocol;

import io.fermata.mcp.rpc.RpcException;
import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads for authors' handlers: virtual threads where the JDK has them, else a bounded pool. */
public final class HandlerExecutor implements AutoCloseable {
  /** The default size of the pool where threads are not virtual. */
  public static final int THREADS = 64;

  /** How many calls may run or wait for a thread. */
  private static final int MAX_CALLS = 10_000;

  private final ExecutorService threads;
  private final AtomicInteger calls = new AtomicInteger();

  /**
   * @param pooled the size of the pool where threads are not virtual
   */
  public HandlerExecutor(int pooled) {
    this.threads = create(pooled);
  }

  private static ExecutorService create(int pooled) {
    try {
      // The source level is 17, so the method of JDK 21 can only be found at run time.
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      return pool(pooled);
    }
  }

  private static ExecutorService pool(int size) {
    AtomicInteger count = new AtomicInteger();
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            size,
            size,
            30,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> {
              Thread thread = new Thread(task, "fermata-mcp-" + count.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /**
   * Runs a task.
   *
   * @return a handle that cancels it
   * @throws RpcException if too many tasks run or wait already
   */
  public Future<?> run(Runnable task) {
    FutureTask<?> running = new FutureTask<>(task, null);
    execute(running);
    return running;
  }

  /**
   * Runs a task that cannot be cancelled.
   *
   * @throws RpcException if too many tasks run or wait already
   */
  public void execute(Runnable task) {
    if (calls.incrementAndGet() > MAX_CALLS) {
      calls.decrementAndGet();
      throw RpcException.overloaded();
    }
    threads.execute(
        () -> {
          try {
            task.run();
          } finally {
            // A task that is cancelled keeps its thread until it ends.
            calls.decrementAndGet();
          }
        });
  }

  @Override
  public void close() {
    threads.shutdownNow();
  }
}
