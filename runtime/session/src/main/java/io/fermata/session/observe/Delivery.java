package io.fermata.session.observe;

import io.fermata.flow.logging.LoggedFailure;
import io.fermata.flow.observe.Recorder;
import io.fermata.session.key.HandlerThreads;
import java.util.Iterator;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The queue of one recorder, delivered in order on its own thread. If the recorder is too slow, the
 * newest journal entries are dropped, and it is notified how many, at the position of the gap.
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
            new LinkedBlockingQueue<>(bound),
            HandlerThreads.named("fermata-recorder-"));
    thread.allowCoreThreadTimeOut(true);
  }

  public String name() {
    return name;
  }

  /**
   * A pending notification about a session. One that is forgotten keeps its gap: what was dropped
   * may have been about other sessions.
   */
  private final class Notification implements Runnable {
    private final String session;
    private final long gap;
    private final AtomicReference<@Nullable Runnable> content;

    Notification(String session, long gap, Runnable content) {
      this.session = session;
      this.gap = gap;
      this.content = new AtomicReference<>(content);
    }

    boolean forget() {
      return content.getAndSet(null) != null;
    }

    @Override
    public void run() {
      if (gap > 0) {
        dropped(gap);
      }
      Runnable what = content.getAndSet(null);
      if (what != null) {
        what.run();
      }
    }
  }

  /** Enqueues a notification, or drops it if the queue is full. */
  public synchronized void later(String session, Runnable notification) {
    try {
      thread.execute(new Notification(session, lost, notification));
      lost = 0;
    } catch (RejectedExecutionException e) {
      lost++;
      // At powers of two, so that a recorder that never catches up does not flood the log.
      if (Long.bitCount(lost) == 1) {
        LOG.warn(
            "Recorder {} is too slow: {} consecutive journal entries were dropped", name, lost);
      }
    }
  }

  /** Drops pending notifications about some sessions, but no gap. Returns how many. */
  public int forget(Predicate<String> sessions) {
    int forgotten = 0;
    for (Iterator<Runnable> waiting = thread.getQueue().iterator(); waiting.hasNext(); ) {
      if (waiting.next() instanceof Notification notification
          && sessions.test(notification.session)
          && notification.forget()) {
        forgotten++;
        if (notification.gap == 0) {
          waiting.remove();
        }
      }
    }
    return forgotten;
  }

  private void dropped(long records) {
    try {
      recorder.onDropped(records);
    } catch (RuntimeException | Error e) {
      LOG.warn("Recorder {} threw when notified of a gap", name, LoggedFailure.of(e));
    }
  }

  /** Accepts nothing more. */
  public void end() {
    thread.shutdown();
  }

  /**
   * Waits until everything accepted is delivered; drops the rest and returns false if that takes
   * too long.
   */
  public boolean deliveredWithin(long millis) throws InterruptedException {
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
