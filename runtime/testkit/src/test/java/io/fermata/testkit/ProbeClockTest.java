package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.event.LoggingAdapter;
import org.junit.jupiter.api.Test;
import scala.concurrent.ExecutionContext;
import scala.jdk.javaapi.DurationConverters;

/** A clock and its timers are one. */
class ProbeClockTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  private final ProbeClock clock = new ProbeClock();

  private static ActorSystem<Void> host() {
    return ActorSystem.create(Behaviors.empty(), "host", ManualTime.config());
  }

  @Test
  void aTimerThatIsStartedWhileTimePassesNeverFiresEarly() throws Exception {
    Queue<Duration> early = new ConcurrentLinkedQueue<>();
    ActorSystem<Void> host = host();
    try {
      clock.stop();
      clock.follow(host);
      CompletableFuture<Void> passing =
          CompletableFuture.runAsync(() -> clock.pass(MINUTE.multipliedBy(2)));
      int started = 0;
      while (!passing.isDone()) {
        Instant due = clock.now().plus(MINUTE);
        host.scheduler()
            .scheduleOnce(
                Duration.between(clock.now(), due),
                () -> early.add(Duration.between(clock.now(), due)),
                host.executionContext());
        started++;
        Thread.sleep(1);
      }
      passing.join();
      clock.pass(MINUTE.multipliedBy(2));
      assertThat(early).hasSize(started).noneMatch(missing -> missing.toMillis() > 0);
    } finally {
      host.terminate();
    }
  }

  @Test
  void timeGoesOnFromHostToHost() {
    clock.stop();
    Instant beginning = clock.now();
    clock.pass(MINUTE);
    for (int i = 2; i <= 3; i++) {
      ActorSystem<Void> host = host();
      try {
        clock.follow(host);
        clock.pass(MINUTE);
      } finally {
        host.terminate();
      }
      assertThat(clock.now()).isEqualTo(beginning.plus(MINUTE.multipliedBy(i)));
    }
  }

  @Test
  void aTimerThatIsSetWhileTimePassesFiresAtNoMomentThatHasPassed() throws Exception {
    CountDownLatch setting = new CountDownLatch(1);
    CountDownLatch passed = new CountDownLatch(1);
    LoggingAdapter slow =
        (LoggingAdapter)
            Proxy.newProxyInstance(
                LoggingAdapter.class.getClassLoader(),
                new Class<?>[] {LoggingAdapter.class},
                (proxy, method, arguments) -> {
                  if (Thread.currentThread().getName().equals("late")) {
                    setting.countDown();
                    passed.await(30, TimeUnit.SECONDS);
                  }
                  return null;
                });
    LeapingScheduler scheduler = new LeapingScheduler(ConfigFactory.empty(), slow, Thread::new);
    Queue<Long> fired = new ConcurrentLinkedQueue<>();
    Thread late =
        new Thread(() -> after(scheduler, 1, () -> fired.add(scheduler.currentTimeMs())), "late");
    after(scheduler, 5, late::start);
    after(scheduler, 6, () -> awaitSetting(late, setting));

    scheduler.timePasses(DurationConverters.toScala(MINUTE));
    passed.countDown();
    late.join();
    scheduler.timePasses(DurationConverters.toScala(MINUTE));

    assertThat(fired).hasSize(1).allMatch(at -> at >= MINUTE.toMillis());
  }

  private static void after(LeapingScheduler scheduler, int seconds, Runnable task) {
    scheduler.scheduleOnce(
        DurationConverters.toScala(Duration.ofSeconds(seconds)),
        task,
        ExecutionContext.parasitic$.MODULE$);
  }

  /** Until the thread has read the time, or waits for the scheduler. */
  private static void awaitSetting(Thread late, CountDownLatch setting) {
    while (setting.getCount() > 0 && late.getState() != Thread.State.BLOCKED) {
      Thread.onSpinWait();
    }
  }
}
