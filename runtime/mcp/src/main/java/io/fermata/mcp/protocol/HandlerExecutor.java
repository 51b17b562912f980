package io.fermata.mcp.protocol;

import io.fermata.mcp.access.PrincipalCounts;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.HandlerThreads;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Threads for authors' handlers: virtual threads on JDK 24 and newer, else a bounded pool. */
public final class HandlerExecutor implements AutoCloseable {
  /** The default size of the pool where threads are not virtual. */
  public static final int THREADS = 64;

  /** How many calls may run or wait for a thread. */
  private static final int MAX_CALLS = 10_000;

  private final ExecutorService threads;
  private final AtomicInteger calls = new AtomicInteger();
  private final PrincipalCounts ofPrincipal;

  /**
   * @param pooled the size of the pool where threads are not virtual
   * @param each how many tasks of one principal may run or wait for a thread
   */
  public HandlerExecutor(int pooled, int each) {
    this.threads = HandlerThreads.create(pooled, "fermata-mcp-");
    this.ofPrincipal = new PrincipalCounts(each);
  }

  /**
   * Runs a task of a principal. If it is cancelled, it counts until it ends all the same.
   *
   * @param then takes the result as soon as the task no longer counts
   * @return a handle that cancels it
   * @throws RpcException if too many tasks run or wait already
   */
  public <T> Future<?> run(String principal, Supplier<T> task, Consumer<T> then) {
    if (!ofPrincipal.tryEnter(principal, 1)) {
      throw RpcException.tooManyCalls(
          "The handlers of %s calls run already: wait for one to end.".formatted(ofPrincipal.max()),
          1);
    }
    AtomicReference<@Nullable T> result = new AtomicReference<>();
    FutureTask<?> running = new FutureTask<>(() -> result.set(task.get()), null);
    try {
      execute(
          () -> {
            try {
              running.run();
            } finally {
              ofPrincipal.leave(principal, 1);
            }
            T known = result.get();
            if (known != null) {
              then.accept(known);
            }
          });
    } catch (RuntimeException | Error e) {
      ofPrincipal.leave(principal, 1);
      throw e;
    }
    return running;
  }

  /**
   * Runs a task that counts for nobody and cannot be cancelled.
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
