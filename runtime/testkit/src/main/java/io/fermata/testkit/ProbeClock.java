package io.fermata.testkit;

import io.fermata.flow.json.Limits;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.testkit.ExplicitlyTriggeredScheduler;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.DurationConverters;

/**
 * The clock of a probe's hosts. Manual time is that of the host's scheduler: were it kept beside
 * it, a timer that is started while time passes would fire early.
 */
final class ProbeClock {
  private static final Instant BEGINNING = Instant.parse("2026-01-01T00:00:00Z");

  /**
   * @param before what had passed when the present host started
   * @param host the scheduler of the present host, which began at zero; null in real time, and
   *     before the first
   */
  private record Elapsed(Duration before, @Nullable ExplicitlyTriggeredScheduler host) {
    Duration sum() {
      return host == null ? before : before.plusMillis(host.currentTimeMs());
    }
  }

  /** Longer than the timers with which the actor system lets go of its threads. */
  private static final Duration LAST_TIMERS = Duration.ofSeconds(3);

  private boolean manual;
  private Instant beginning = BEGINNING;
  private Duration shift = Duration.ZERO;
  private volatile Elapsed elapsed = new Elapsed(Duration.ZERO, null);

  boolean manual() {
    return manual;
  }

  /** From now on, time passes only by {@link #pass}. */
  void stop() {
    manual = true;
  }

  /** Its time begins at a moment, or later. */
  void beginAt(Instant moment) {
    beginning = moment.isAfter(BEGINNING) ? moment : BEGINNING;
    shift = Duration.between(Instant.now(), beginning);
  }

  Instant now() {
    return (manual ? beginning : Instant.now().plus(shift)).plus(elapsed.sum());
  }

  long nanos() {
    return (manual ? 0 : System.nanoTime()) + elapsed.sum().toNanos();
  }

  /** A host has started, whose scheduler begins at zero. */
  void follow(ActorSystem<?> host) {
    if (manual) {
      elapsed =
          new Elapsed(
              elapsed.sum(), (ExplicitlyTriggeredScheduler) Adapter.toClassic(host).scheduler());
    }
  }

  /** The host has ended. Its threads end by a timer, which this time must not pass for. */
  void ended() {
    Elapsed now = elapsed;
    if (now.host != null) {
      elapsed = new Elapsed(now.sum(), null);
      now.host.timePasses(DurationConverters.toScala(LAST_TIMERS));
    }
  }

  /** Refuses a time that is negative, or longer than anything that waits. */
  static void requireTime(String what, Duration time) {
    Objects.requireNonNull(time, what);
    for (String wrong : Limits.bounded(what + " is", time)) {
      throw new IllegalArgumentException(wrong);
    }
  }

  /** Sets the clock forward; manual time with the timers that are due by then. */
  void pass(Duration time) {
    Elapsed now = elapsed;
    if (now.host == null) {
      elapsed = new Elapsed(now.before.plus(time), null);
    } else {
      now.host.timePasses(DurationConverters.toScala(time));
    }
  }
}
