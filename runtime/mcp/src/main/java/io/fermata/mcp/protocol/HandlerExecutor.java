package io.fermata.mcp.protocol;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.HandlerThreads;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
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
    this.threads = HandlerThreads.create(pooled, "fermata-mcp-");
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
