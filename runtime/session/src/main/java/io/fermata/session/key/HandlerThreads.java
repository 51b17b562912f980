package io.fermata.session.key;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinPool.ForkJoinWorkerThreadFactory;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The threads of handlers: virtual threads on JDK 24 and newer, else a bounded pool. On the JDKs
 * before, a virtual thread that waits while it holds a monitor keeps the thread that carries it, of
 * which there are as many as processors: a few handlers that do so would stop all others, and the
 * replies.
 */
public final class HandlerThreads {
  /** How many threads notify subscribers. */
  static final int FEEDS = 8;

  /** The first JDK whose virtual threads let go of their carrier whatever they hold. */
  private static final int UNPINNED = 24;

  /** How many callers may block threads in their callbacks before others wait. */
  private static final int MOST_HELD_UP = 1_024;

  private HandlerThreads() {}

  /**
   * Starts them.
   *
   * @param bound the size of the pool where threads are not virtual
   * @param name the beginning of the names of its threads
   */
  public static ExecutorService create(int bound, String name) {
    ExecutorService virtual = Runtime.version().feature() < UNPINNED ? null : virtualThreads();
    return virtual == null ? pool(bound, name) : virtual;
  }

  private static @Nullable ExecutorService virtualThreads() {
    try {
      // The source level is 17, so the method of JDK 21 can only be found at run time.
      return (ExecutorService)
          Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      return null;
    }
  }

  /** Threads that notify subscribers. Few suffice, as subscribers return at once. */
  public static ExecutorService feeds() {
    return pool(FEEDS, "fermata-feed-");
  }

  private static ThreadPoolExecutor pool(int bound, String name) {
    ThreadPoolExecutor pool =
        new ThreadPoolExecutor(
            bound, bound, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), named(name));
    pool.allowCoreThreadTimeOut(true);
    return pool;
  }

  /**
   * Threads that complete replies, where callers may block. Virtual threads if the JDK has them,
   * also on JDK 21 to 23, where no handler shares their carriers. Else as many as callers block,
   * usually one or two: replies come in bursts, one for each entry of a batch, and this pool does
   * not wake a thread for each of them. On the JDKs that have virtual threads its idle threads
   * spin, which took half of the CPU.
   */
  public static ExecutorService replies() {
    ExecutorService virtual = virtualThreads();
    return virtual == null ? replyPool() : virtual;
  }

  private static ExecutorService replyPool() {
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    AtomicInteger count = new AtomicInteger();
    ForkJoinWorkerThreadFactory factory =
        pool -> {
          ForkJoinWorkerThread thread =
              ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(pool);
          thread.setName("fermata-reply-" + count.incrementAndGet());
          thread.setContextClassLoader(loader);
          return thread;
        };
    return new ForkJoinPool(MOST_HELD_UP, factory, null, true);
  }

  public static ThreadFactory named(String prefix) {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, prefix + count.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    };
  }
}
