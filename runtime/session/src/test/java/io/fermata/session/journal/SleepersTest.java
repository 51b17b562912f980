package io.fermata.session.journal;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.Event;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.session.Fermata;
import io.fermata.session.TestFlows;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.persistence.typed.PersistenceId;
import org.apache.pekko.persistence.typed.javadsl.CommandHandler;
import org.apache.pekko.persistence.typed.javadsl.EventHandler;
import org.apache.pekko.persistence.typed.javadsl.EventSourcedBehavior;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions that sleep until a moment, on a real SQLite file. */
@Tag("slow")
class SleepersTest {
  private static final Duration QUARTER = Duration.ofDays(90);

  @TempDir Path dir;

  private Fermata host(InstantSource clock) {
    return Fermata.host()
        .store(Store.sqlite(dir.resolve("test.db")))
        .flow(TestFlows.trip())
        .clock(clock)
        .start();
  }

  /** Ends a session's journal as a session does that waits for a moment. */
  private static void appoint(Fermata host, String entityId, Instant at) throws Exception {
    CountDownLatch written = new CountDownLatch(1);
    host.system()
        .systemActorOf(
            appointment(entityId, at, written), entityId.replace("|", "-"), Props.empty());
    assertThat(written.await(60, TimeUnit.SECONDS)).isTrue();
  }

  private static Behavior<String> appointment(String entityId, Instant at, CountDownLatch written) {
    return Behaviors.setup(
        context -> {
          context.getSelf().tell("write");
          return new Appointment(entityId, at, written);
        });
  }

  private static final class Appointment
      extends EventSourcedBehavior<String, Entry<Event>, String> {
    private final Instant at;
    private final CountDownLatch written;

    Appointment(String entityId, Instant at, CountDownLatch written) {
      super(PersistenceId.ofUniqueId(entityId));
      this.at = at;
      this.written = written;
    }

    @Override
    public String emptyState() {
      return "";
    }

    @Override
    public CommandHandler<String, Entry<Event>, String> commandHandler() {
      return (state, command) ->
          Effect()
              .persist(Entry.<Event>of(1, 0, Entry.Origin.HOST, List.of()))
              .thenRun(written::countDown)
              .thenStop();
    }

    @Override
    public EventHandler<String, Entry<Event>> eventHandler() {
      return (state, event) -> state;
    }

    @Override
    public Set<String> tagsFor(Entry<Event> entry) {
      return Set.of(JournalTags.due(at.toEpochMilli()));
    }
  }

  @Test
  void aSessionThatWaitsForAMomentSleepsThroughRestartsUntilThen() throws Exception {
    Instant now = Instant.now();
    try (Fermata host = host(InstantSource.system())) {
      appoint(host, "trip|overdue", now.minus(QUARTER));
      appoint(host, "trip|sleeper", now.plus(QUARTER));
      appoint(host, "gone|overdue", now.minus(QUARTER));
    }
    try (Fermata host = host(InstantSource.system())) {
      awaitAwake(host, 1);
    }
    try (Fermata host = host(InstantSource.offset(InstantSource.system(), QUARTER))) {
      awaitAwake(host, 2);
    }
  }

  /** Those who are due together are woken together, one by one. */
  private static void awaitAwake(Fermata host, int sessions) throws Exception {
    for (int look = 0; look < 500 && host.awake() < sessions; look++) {
      Thread.sleep(20);
    }
    assertThat(host.awake()).isEqualTo(sessions);
  }
}
