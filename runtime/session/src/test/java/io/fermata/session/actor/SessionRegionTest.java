package io.fermata.session.actor;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Congestion;
import io.fermata.session.observe.HostGauges;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** When lost sessions are woken; time passes as the test says. */
@Tag("slow")
final class SessionRegionTest {
  private static final int SESSIONS = 1_000;
  private static final DispatcherSelector HERE =
      DispatcherSelector.fromConfig("pekko.test.calling-thread-dispatcher");

  /** The sessions run on the thread of the test, too. */
  private static final Config ONE_THREAD =
      ManualTime.config()
          .withValue(
              "pekko.actor.default-dispatcher",
              ConfigFactory.load().getValue("pekko.test.calling-thread-dispatcher"));

  private final ActorTestKit kit = ActorTestKit.create(ONE_THREAD);
  private final TimeOfOneThread time = new TimeOfOneThread(kit);
  private final List<String> woken = new ArrayList<>();
  private final Set<String> works = new HashSet<>();
  private final Set<String> broken = new HashSet<>();

  /** What happened to calls and their sessions. */
  private final List<String> reported = new ArrayList<>();

  /** Sessions that cannot sleep. */
  private final Set<String> busy = new HashSet<>();

  private boolean storeFails;
  private boolean recoversLater;

  /** The session that was last asked to sleep. */
  private @Nullable ActorRef<SessionCommand> fallsAsleep;

  private boolean sleepAtOnce;

  /** Whether sessions stop later than they are asked to. */
  private boolean barsHold;

  private final SessionRegion.Losses losses =
      new SessionRegion.Losses() {
        @Override
        public void delivered(long call) {
          reported.add("delivered " + call);
        }

        @Override
        public void lost(String entityId, Outcome.Failure why) {
          reported.add("lost " + entityId);
        }
      };

  private final HostGauges gauges =
      new HostGauges(List.of(), new Congestion(Duration.ofSeconds(5), System::nanoTime));

  private int pings;
  private ActorRef<SessionRegion.Message> region = kit.system().deadLetters().unsafeUpcast();

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  private void start() {
    start(Settings.DEFAULT);
  }

  private void start(Settings settings) {
    region =
        kit.spawn(
            SessionRegion.create(
                (entityId, fresh, itself) -> session(entityId),
                settings,
                () -> time.millis() * 1_000_000,
                gauges,
                losses,
                this::ping,
                Placement.SINGLE),
            HERE);
  }

  private CompletionStage<?> ping() {
    pings++;
    return storeFails
        ? CompletableFuture.failedFuture(new IllegalStateException("No store today"))
        : CompletableFuture.completedFuture("pong");
  }

  /** It is lost as soon as it is to work while the store fails. */
  private Behavior<SessionCommand> session(String entityId) {
    return Behaviors.receive(
        (context, command) -> {
          if (command instanceof SessionCommand.Idle) {
            if (busy.contains(entityId)) {
              return Behaviors.same();
            }
            region.tell(new SessionRegion.Passivate(entityId, context.getSelf()));
            return Behaviors.same();
          } else if (command instanceof SessionCommand.Sleep) {
            fallsAsleep = context.getSelf();
            if (sleepAtOnce) {
              region.tell(new SessionRegion.FallsAsleep(entityId, context.getSelf()));
            }
            return sleepAtOnce ? Behaviors.stopped() : Behaviors.same();
          } else if (command instanceof SessionCommand.Vanish) {
            return barsHold ? Behaviors.same() : Behaviors.stopped();
          } else if (!(command instanceof SessionCommand.Wake)) {
            return Behaviors.same();
          }
          woken.add(entityId);
          if (storeFails || broken.contains(entityId)) {
            return Behaviors.stopped();
          }
          works.add(entityId);
          if (!recoversLater) {
            region.tell(new SessionRegion.Woken(entityId));
          }
          return Behaviors.same();
        });
  }

  private void pass(Duration duration) {
    time.pass(duration);
  }

  private void loses(int sessions) {
    storeFails = true;
    region.tell(
        new SessionRegion.WakeUp(IntStream.range(0, sessions).mapToObj(i -> "trip|" + i).toList()));
    pass(Duration.ofSeconds(10));
    assertThat(woken).hasSize(sessions);
    woken.clear();
  }

  @Test
  void aCallThatComesWhileItsSessionFallsAsleepIsNotLostWithIt() {
    start();
    region.tell(new SessionRegion.Envelope("trip|1", call(2)));
    region.tell(new SessionRegion.Envelope("trip|1", new SessionCommand.Idle()));
    region.tell(new SessionRegion.Envelope("trip|1", call(1)));
    assertThat(reported).containsExactly("delivered 2");

    Objects.requireNonNull(fallsAsleep).tell(new SessionCommand.Vanish());

    assertThat(reported).containsExactly("delivered 2", "lost trip|1", "delivered 1");
  }

  private static SessionCommand.Call call(long id) {
    return new SessionCommand.Call(
        id,
        Entry.Origin.HOST,
        null,
        false,
        Request.OfRun.of(CallAction.STATUS, Json.object(), null),
        ReplyMode.WAITS,
        TraceContext.NONE,
        new SessionCommand.ReplyTo() {
          @Override
          public void reply(long call, SessionReply reply) {}

          @Override
          public void progress(long call, ToolProgress progress) {}
        });
  }

  @Test
  void lostSessionsResumeWithinSecondsAfterAnOutageOfAnHour() {
    start();
    loses(SESSIONS);
    pass(Duration.ofHours(1));
    assertThat(works).isEmpty();
    storeFails = false;
    pass(Duration.ofSeconds(10));
    assertThat(works).hasSize(SESSIONS);
  }

  @Test
  void oneProbeASecondTriesTheStoreForAllLostSessions() {
    start();
    loses(SESSIONS);
    pings = 0;
    pass(Duration.ofSeconds(100));
    assertThat(pings).isEqualTo(100);
    assertThat(woken).as("the sessions themselves do not try").isEmpty();
  }

  @Test
  void sessionsAreWokenAsFastAsTheyRecover() {
    start();
    CompletableFuture<Void> begun = new CompletableFuture<>();
    region.tell(
        new SessionRegion.WakeUp(
            IntStream.range(0, 20 * SESSIONS).mapToObj(i -> "trip|" + i).toList(), begun));
    assertThat(works).hasSize(20 * SESSIONS);
    assertThat(begun).isDone();
  }

  @Test
  void fewSessionsRecoverAtATime() {
    recoversLater = true;
    start();
    CompletableFuture<Void> begun = new CompletableFuture<>();
    region.tell(
        new SessionRegion.WakeUp(
            IntStream.range(0, SESSIONS).mapToObj(i -> "trip|" + i).toList(), begun));
    pass(Duration.ofMinutes(1));
    assertThat(works).hasSize(WakeUps.AT_ONCE);
    region.tell(new SessionRegion.Woken("trip|0"));
    region.tell(new SessionRegion.Woken("trip|1"));
    assertThat(works).hasSize(WakeUps.AT_ONCE + 2);
    assertThat(begun).isNotDone();
    for (int i = 2; i < SESSIONS; i++) {
      region.tell(new SessionRegion.Woken("trip|" + i));
    }
    assertThat(works).hasSize(SESSIONS);
    assertThat(begun).isDone();
  }

  @Test
  void aSessionThatIsLostAlthoughTheStoreWorksIsWokenLessAndLessOften() {
    broken.add("trip|0");
    start();
    region.tell(new SessionRegion.WakeUp(List.of("trip|0")));
    pass(Duration.ofMinutes(10));
    assertThat(woken.size()).isBetween(10, 20);
    assertThat(pings).as("nor is the store probed for nothing").isLessThan(20);
  }

  @Test
  void aBarIsCompleteWhenTheSessionsBehindItHaveStoppedAndNoOthers() {
    start();
    region.tell(
        new SessionRegion.WakeUp(
            IntStream.range(0, 2 * SESSIONS).mapToObj(i -> "trip|" + i).toList()));
    SessionScope half =
        new SessionScope(
            IntStream.range(0, SESSIONS).mapToObj(i -> "trip|" + i).collect(Collectors.toSet()),
            Set.of());
    SessionScope one = new SessionScope(Set.of("trip|7"), Set.of());
    CompletableFuture<Void> halfStopped = new CompletableFuture<>();
    CompletableFuture<Void> oneStopped = new CompletableFuture<>();
    barsHold = true;
    region.tell(new SessionRegion.Bar(half, halfStopped));
    region.tell(new SessionRegion.Bar(one, oneStopped));
    assertThat(halfStopped).isNotDone();

    barsHold = false;
    region.tell(new SessionRegion.Bar(one, new CompletableFuture<>()));
    assertThat(oneStopped).isDone();
    assertThat(halfStopped).isNotDone();
    region.tell(new SessionRegion.Bar(half, new CompletableFuture<>()));
    assertThat(halfStopped).isDone();
    CompletableFuture<Void> nobody = new CompletableFuture<>();
    region.tell(new SessionRegion.Bar(one, nobody));
    assertThat(nobody).isDone();

    woken.clear();
    region.tell(new SessionRegion.WakeUp(List.of("trip|7", "trip|" + (SESSIONS + 7))));
    assertThat(woken).containsExactly("trip|" + (SESSIONS + 7));
  }

  @Test
  void nothingIsProbedWhileNoSessionIsLost() {
    start();
    region.tell(new SessionRegion.WakeUp(List.of("trip|0")));
    pass(Duration.ofMinutes(10));
    assertThat(works).containsExactly("trip|0");
    assertThat(pings).isZero();
  }

  @Test
  void aHostKeepsItsBoundOfAwakeSessionsAlthoughTheLeastUsedOnesAreAtWork() {
    sleepAtOnce = true;
    start(Settings.DEFAULT.awake(100));
    for (int i = 0; i < 5 * 100; i++) {
      if (i < 100) {
        busy.add("trip|" + i);
      }
      region.tell(new SessionRegion.Envelope("trip|" + i, call(i)));
    }
    assertThat(gauges.awake()).isBetween(100, 150);

    busy.clear();
    pass(Duration.ofMinutes(1));
    assertThat(gauges.awake()).isEqualTo(100);
  }
}
