package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.junit.jupiter.api.Test;

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
}
