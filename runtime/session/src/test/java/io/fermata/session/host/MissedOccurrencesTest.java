package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.MissedRuns;
import io.fermata.session.admin.Schedule;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.observe.ScheduleObserver;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.apache.pekko.actor.typed.ActorRef;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a schedule that skips missed runs does when its actor moves or is restarted. */
class MissedOccurrencesTest {
  private static final Instant BEGIN = Instant.parse("2026-01-01T00:00:00Z");
  private static final Schedule HOURLY =
      Schedule.of("hourly", "report")
          .every(Duration.ofHours(1))
          .intent("report")
          .missed(MissedRuns.NONE);

  private final ActorTestKit kit =
      ActorTestKit.create(
          ConfigFactory.parseString(
              "pekko.persistence.journal.plugin = pekko.persistence.journal.inmem"));
  private final List<ToolCall> calls = new CopyOnWriteArrayList<>();
  private final AtomicInteger looks = new AtomicInteger();
  private volatile Instant now = BEGIN;

  @AfterEach
  void shutDown() {
    kit.shutdownTestKit();
  }

  private ActorRef<?> schedule(Instant started) {
    return kit.spawn(
        ScheduleActor.create(
            HOURLY,
            new Rhythm.Every(Duration.ofHours(1)),
            call -> {
              calls.add(call);
              return CompletableFuture.completedFuture(
                  new ToolReply(Json.object().put("status", "complete"), Json.object()));
            },
            () -> {
              looks.incrementAndGet();
              return now;
            },
            started,
            Telemetry.NONE,
            ScheduleObserver.NONE));
  }

  private void until(Runnable condition) {
    TestProbe<Object> probe = kit.createTestProbe();
    probe.awaitAssert(
        Duration.ofMinutes(1),
        () -> {
          condition.run();
          return null;
        });
  }

  /** The schedule looks at the clock, writes what it found, and looks again. */
  private void runUntilItWaits(Instant started) {
    looks.set(0);
    ActorRef<?> actor = schedule(started);
    until(() -> assertThat(looks).hasValueGreaterThanOrEqualTo(3));
    kit.stop(actor);
  }

  @Test
  void anOccurrenceWhileItsShardMovedStartsItsRunAsItsHostsWereRunning() {
    runUntilItWaits(BEGIN);

    now = BEGIN.plusSeconds(3 * 3_600);
    schedule(BEGIN);

    until(() -> assertThat(calls).hasSize(1));
  }

  @Test
  void oneBeforeTheStartOfItsHostIsSkipped() {
    runUntilItWaits(BEGIN);

    now = BEGIN.plusSeconds(3 * 3_600);
    runUntilItWaits(now);
    assertThat(calls).isEmpty();
    now = BEGIN.plusSeconds(4 * 3_600);
    schedule(BEGIN.plusSeconds(3 * 3_600));

    until(() -> assertThat(calls).hasSize(1));
    assertThat(Json.text(calls.get(0).meta())).contains("2026-01-01T04:00:00Z");
  }
}
