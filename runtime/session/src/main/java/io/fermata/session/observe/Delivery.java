package io.fermata.session.observe;

import io.fermata.flow.observe.Recorder;
import io.fermata.session.key.HandlerThreads;
import java.util.Iterator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one recorder has still to be told, in order, on a thread of its own. If it is too slow the
 * newest journal records are lost to it, and it is told how many, where they are missing.
 */
public final class Delivery {
  private static final Logger LOG = LoggerFactory.getLogger(Delivery.class);

  private final Recorder recorder;
  private final String name;
  private final ThreadPoolExecutor thread;
  private long lost;

  public Delivery(Recorder recorder, String name, int bound) {
    this.recorder = recorder;
    this.name = name;
    this.thread =
        new ThreadPoolExecutor(
            1,
            1,
            10,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(bound),
            HandlerThreads.named("fermata-recorder-"));
    thread.allowCoreThreadTimeOut(true);
  }

  public String name() {
    return name;
  }

  /** Something of a session that is to be told. */
  private record Telling(String session, Runnable what) implements Runnable {
    @Override
    public void run() {
      what.run();
    }
  }

  /** Tells it later; or never, if it is too far behind. */
  public synchronized void later(String session, Runnable telling) {
    long gap = lost;
    try {
      thread.execute(new Telling(session, gap == 0 ? telling : () -> after(gap, telling)));
      lost = 0;
    } catch (RejectedExecutionException e) {
      lost++;
      // At powers of two, so that a recorder that never catches up does not fill the log.
      if (Long.bitCount(lost) == 1) {
        LOG.warn("Recorder {} is too slow: {} journal records in a row are lost to it", name, lost);
      }
    }
  }

  /** Never tells what waits of some sessions. Returns how much that is. */
  public int forget(Predicate<String> sessions) {
    int forgotten = 0;
    for (Iterator<Runnable> waiting = thread.getQueue().iterator(); waiting.hasNext(); ) {
      if (waiting.next() instanceof Telling telling && sessions.test(telling.session())) {
        waiting.remove();
        forgotten++;
      }
    }
    return forgotten;
  }

  private void after(long gap, Runnable telling) {
    dropped(gap);
    telling.run();
  }

  private void dropped(long records) {
    try {
      recorder.onDropped(records);
    } catch (RuntimeException | Error e) {
      LOG.warn("Recorder {} failed when told of a gap", name, e);
    }
  }

  /** Takes nothing more. */
  public void end() {
    thread.shutdown();
  }

  /** Whether all that was taken has been told in time; if not, it never is. */
  public boolean toldWithin(long millis) throws InterruptedException {
    if (!thread.awaitTermination(millis, TimeUnit.MILLISECONDS)) {
      thread.shutdownNow();
      return false;
    }
    if (lost > 0) {
      dropped(lost);
    }
    return true;
  }

  /** Stops at once. */
  public void abandon() {
    thread.shutdownNow();
  }
}
