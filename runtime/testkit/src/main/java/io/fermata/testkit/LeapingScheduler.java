package io.fermata.testkit;

import com.typesafe.config.Config;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import org.apache.pekko.actor.Cancellable;
import org.apache.pekko.event.LoggingAdapter;
import org.apache.pekko.testkit.ExplicitlyTriggeredScheduler;
import scala.concurrent.ExecutionContext;
import scala.concurrent.duration.FiniteDuration;

/**
 * The scheduler of a host in manual time. What repeats runs once between two timers, as on a
 * machine that was suspended, so that a year passes as fast as a second.
 */
final class LeapingScheduler extends ExplicitlyTriggeredScheduler {
  private final List<Repeated> repeated = new CopyOnWriteArrayList<>();

  LeapingScheduler(Config config, LoggingAdapter log, ThreadFactory threads) {
    super(config, log, threads);
  }

  @Override
  public Cancellable scheduleWithFixedDelay(
      FiniteDuration initialDelay, FiniteDuration delay, Runnable task, ExecutionContext executor) {
    Repeated added = new Repeated(task, delay.toMillis(), initialDelay.toMillis());
    repeated.add(added);
    return added;
  }

  /**
   * Waits while time passes: a timer that was set before and is kept after it would be in the past,
   * and time would go back to it.
   */
  @Override
  public synchronized Cancellable scheduleOnce(
      FiniteDuration delay, Runnable task, ExecutionContext executor) {
    return super.scheduleOnce(
        delay,
        () -> {
          repeat();
          task.run();
        },
        executor);
  }

  /** Does not wait before, unlike the one that it overrides. */
  @Override
  public synchronized void timePasses(FiniteDuration amount) {
    scheduleOnce(amount, () -> {}, ExecutionContext.parasitic$.MODULE$);
    executeTasks(currentTimeMs() + amount.toMillis());
  }

  private void repeat() {
    repeated.forEach(Repeated::runIfDue);
  }

  private final class Repeated implements Cancellable {
    private final Runnable task;
    private final long delay;
    private long next;

    Repeated(Runnable task, long delay, long initialDelay) {
      this.task = task;
      this.delay = delay;
      this.next = currentTimeMs() + initialDelay;
    }

    void runIfDue() {
      if (currentTimeMs() >= next) {
        next = currentTimeMs() + delay;
        task.run();
      }
    }

    @Override
    public boolean cancel() {
      return repeated.remove(this);
    }

    @Override
    public boolean isCancelled() {
      return !repeated.contains(this);
    }
  }
}
