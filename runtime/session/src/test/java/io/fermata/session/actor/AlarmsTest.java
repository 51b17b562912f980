package io.fermata.session.actor;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.spi.Due;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.DispatcherSelector;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Which sessions are woken when; on one thread, in time that passes as the test says. */
@Tag("slow")
class AlarmsTest {
  private static final Instant NOON = Instant.parse("2026-06-01T12:00:00Z");
  private static final DispatcherSelector HERE =
      DispatcherSelector.fromConfig("pekko.test.calling-thread-dispatcher");

  private final ActorTestKit kit = ActorTestKit.create(ManualTime.config());
  private final TimeOfOneThread time = new TimeOfOneThread(kit);
  private final List<Due> store = new ArrayList<>();
  private final List<String> woken = new ArrayList<>();
  private boolean broken;
  private int polls;

  /** How many sessions the store has found in all polls. */
  private int read;

  /** The result of a poll that takes long. */
  private @Nullable CompletableFuture<List<Due>> slow;

  private @Nullable ActorRef<Alarms.Message> alarms;
  private Duration lag = Duration.ZERO;
  private Duration setBack = Duration.ZERO;

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  private void start() {
    alarms =
        kit.spawn(
            Alarms.create(
                this::due, id -> id.startsWith("trip|"), this::now, this::wakeUp, this::polled),
            HERE);
  }

  private void polled(int soon, Duration overdue) {
    lag = overdue;
  }

  private CompletionStage<?> wakeUp(List<String> entityIds) {
    woken.addAll(entityIds);
    return CompletableFuture.completedFuture(null);
  }

  private void take() {
    Objects.requireNonNull(alarms).tell(new Alarms.Taken());
  }

  private CompletionStage<List<Due>> due(long from, long until, int max) {
    polls++;
    if (slow != null) {
      return slow;
    } else if (broken) {
      return CompletableFuture.failedFuture(new IllegalStateException("No store today"));
    }
    List<Due> found =
        store.stream()
            .filter(due -> from <= due.at() && due.at() <= until)
            .sorted(Comparator.comparingLong(Due::at))
            .limit(max)
            .toList();
    read += found.size();
    return CompletableFuture.completedFuture(found);
  }

  private void appoint(String entityId, Duration afterNoon) {
    done(entityId);
    store.add(new Due(entityId, NOON.plus(afterNoon).toEpochMilli()));
  }

  private void done(String entityId) {
    store.removeIf(due -> due.persistenceId().equals(entityId));
  }

  private void pass(Duration duration) {
    time.pass(duration);
  }

  private Instant now() {
    return NOON.plusMillis(time.millis()).minus(setBack);
  }

  @Test
  void aSessionThatWasDueIsWokenAtOnce() {
    appoint("trip|late", Duration.ofDays(-90));
    appoint("trip|now", Duration.ZERO);
    appoint("trip|soon", Duration.ofSeconds(1));
    start();
    assertThat(woken).containsExactlyInAnyOrder("trip|late", "trip|now");
  }

  @Test
  void aSessionIsWokenWhenItsTimeHasComeAndNotBefore() {
    appoint("trip|a", Duration.ofMinutes(2));
    start();
    pass(Duration.ofSeconds(119));
    assertThat(woken).isEmpty();
    pass(Duration.ofSeconds(1));
    assertThat(woken).containsExactly("trip|a");
  }

  @Test
  void everyoneIsWokenInItsOwnTime() {
    IntStream.rangeClosed(1, 20).forEach(s -> appoint("trip|" + s, Duration.ofSeconds(s)));
    start();
    for (int second = 1; second <= 20; second++) {
      pass(Duration.ofSeconds(1));
      assertThat(woken).containsExactly("trip|" + second);
      done("trip|" + second);
      woken.clear();
    }
  }

  @Test
  void anAppointmentThatIsMadeOrMovedLaterIsKept() {
    start();
    appoint("trip|made", Duration.ofSeconds(20));
    appoint("trip|moved", Duration.ofSeconds(20));
    pass(Duration.ofSeconds(12));
    appoint("trip|moved", Duration.ofSeconds(40));
    pass(Duration.ofSeconds(10));
    assertThat(woken).containsExactly("trip|made");
    done("trip|made");
    woken.clear();
    pass(Duration.ofSeconds(20));
    assertThat(woken).containsExactly("trip|moved");
  }

  @Test
  void howLongTheFirstSessionIsOverdueIsNoticedAtEachPoll() {
    appoint("trip|late", Duration.ofSeconds(-90));
    appoint("trip|later", Duration.ofSeconds(-30));
    appoint("trip|soon", Duration.ofSeconds(8));
    appoint("foreign|late", Duration.ofDays(-90));
    start();
    assertThat(lag).isEqualTo(Duration.ofSeconds(90));
    done("trip|late");
    pass(Duration.ofSeconds(5));
    assertThat(lag).isEqualTo(Duration.ofSeconds(35));
    done("trip|later");
    pass(Duration.ofSeconds(2));
    assertThat(lag).as("as the last poll saw it").isEqualTo(Duration.ofSeconds(35));
    pass(Duration.ofSeconds(3));
    assertThat(lag).as("at most one poll").isEqualTo(Duration.ofSeconds(2));
    done("trip|soon");
    pass(Duration.ofSeconds(5));
    assertThat(lag).isZero();
  }

  @Test
  void aStoreThatCannotBePolledMayHideASessionThatIsOverdue() {
    start();
    broken = true;
    pass(Duration.ofSeconds(60));
    assertThat(lag).isEqualTo(Duration.ofSeconds(60));
    broken = false;
    pass(Duration.ofSeconds(5));
    assertThat(lag).isZero();
  }

  @Test
  void aSessionThatStaysDueIsWokenAgainEverMoreRarely() {
    appoint("trip|stuck", Duration.ZERO);
    start();
    pass(Duration.ofSeconds(59));
    assertThat(woken).hasSize(1);
    pass(Duration.ofSeconds(1));
    assertThat(woken).hasSize(2);
    pass(Duration.ofMinutes(2));
    assertThat(woken).hasSize(3);
    pass(Duration.ofHours(4));
    assertThat(woken).hasSizeBetween(9, 12);
  }

  @Test
  void aClockThatIsSetBackDelaysNoFurtherWake() {
    appoint("trip|stuck", Duration.ofHours(-2));
    start();
    assertThat(woken).hasSize(1);
    setBack = Duration.ofHours(1);
    pass(Duration.ofMinutes(5));
    assertThat(woken).hasSizeGreaterThan(1);
  }

  @Test
  void whatIsDueOfTheSessionsThatTheHostTakesIsFoundByOnePoll() {
    start();
    pass(Duration.ofSeconds(1));
    appoint("trip|a", Duration.ZERO);
    int before = polls;
    IntStream.range(0, 40).forEach(shard -> take());
    pass(Duration.ofMillis(100));
    assertThat(woken).containsExactly("trip|a");
    assertThat(polls).isEqualTo(before + 1);
  }

  @Test
  void theHostMayTakeThemWhileItPolls() {
    CompletableFuture<List<Due>> running = new CompletableFuture<>();
    slow = running;
    start();
    appoint("trip|a", Duration.ZERO);
    take();
    slow = null;
    running.complete(List.of());
    pass(Duration.ofMillis(100));
    assertThat(woken).containsExactly("trip|a");
  }

  @Test
  void aBacklogIsWokenWithoutAWaitBetweenItsPages() {
    int backlog = 3 * Alarms.FOUND_AT_ONCE;
    IntStream.range(0, backlog).forEach(number -> store.add(new Due("trip|" + number, 0)));
    start();
    assertThat(woken).hasSize(backlog);
  }

  @Test
  void whatIsNotOursIsLeftAloneAndCrowdsOutNobody() {
    for (int other = 0; other < Alarms.FOUND_AT_ONCE + 10; other++) {
      store.add(new Due("other|" + other, 0));
    }
    appoint("trip|a", Duration.ZERO);
    start();
    pass(Alarms.LOOK);
    assertThat(woken).containsExactly("trip|a");
  }

  private void retire(int sessions) {
    IntStream.range(0, sessions).forEach(each -> appoint("gone|" + each, Duration.ofDays(-each)));
  }

  @Test
  void sessionsThatNoFlowOfThisHostRunsAreNotReadAgainByEveryPoll() {
    retire(500);
    appoint("gone|soon", Duration.ofSeconds(22));
    start();
    assertThat(read).isEqualTo(500);
    pass(Alarms.LOOK.multipliedBy(10));
    assertThat(polls).isEqualTo(11);
    assertThat(read).as("once, and one several times until it is overdue").isLessThan(500 + 10);
    appoint("trip|a", Duration.ofMinutes(1));
    pass(Duration.ofSeconds(10));
    assertThat(woken).containsExactly("trip|a");
  }

  @Test
  void theLogSaysOnceHowManySessionsOfWhichUnknownFlowsAreOverdue() {
    retire(3);
    appoint("lost|a", Duration.ofDays(-1));
    appoint("lost|later", Duration.ofSeconds(8));
    appoint("trip|a", Duration.ofDays(-1));
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    lines.start();
    Logger log = (Logger) LoggerFactory.getLogger(Alarms.class);
    log.setLevel(Level.WARN);
    log.addAppender(lines);
    try {
      start();
      pass(Alarms.LOOK_AT_ALL.multipliedBy(2));
    } finally {
      log.detachAppender(lines);
      log.setLevel(null);
    }
    assertThat(lines.list)
        .singleElement()
        .asString()
        .contains("are overdue, so they stay: {gone=3, lost=1};");
  }

  @Test
  void allThatIsOverdueIsReadFromTimeToTime() {
    retire(500);
    start();
    pass(Alarms.LOOK);
    read = 0;
    pass(Alarms.LOOK_AT_ALL);
    assertThat(read).isEqualTo(500);
    appoint("trip|a", Duration.ofDays(-1));
    pass(Alarms.LOOK_AT_ALL);
    assertThat(woken).containsExactly("trip|a");
  }

  @Test
  void whatWasOverdueBeforeTheHostTookItIsFoundBehindTheOthers() {
    retire(500);
    start();
    pass(Alarms.LOOK);
    appoint("trip|a", Duration.ofDays(-1));
    take();
    broken = true;
    pass(Duration.ofMillis(100));
    assertThat(woken).isEmpty();
    broken = false;
    pass(Alarms.LOOK);
    assertThat(woken).as("although a poll has failed").containsExactly("trip|a");
  }

  @Test
  void aClockThatIsSetBackHidesNoSession() {
    retire(500);
    start();
    pass(Duration.ofSeconds(30));
    setBack = Duration.ofSeconds(20);
    appoint("trip|a", Duration.ofSeconds(12));
    pass(Alarms.LOOK);
    assertThat(woken).containsExactly("trip|a");
  }

  @Test
  void aSessionThatStaysDueIsNotReadByEveryPollAndStillWoken() {
    appoint("trip|stuck", Duration.ofDays(-2));
    retire(500);
    start();
    pass(Duration.ofMinutes(5));
    assertThat(woken).hasSize(3);
    read = 0;
    pass(Duration.ofMinutes(4));
    assertThat(read).isZero();
    assertThat(woken).hasSize(4);
    assertThat(lag).isGreaterThan(Duration.ofDays(2));
    done("trip|stuck");
    pass(Alarms.LOOK_AT_ALL);
    assertThat(lag).isZero();
    woken.clear();
    pass(Duration.ofHours(1));
    assertThat(woken).isEmpty();
  }

  @Test
  void whatStaysDueAndMovesIsWokenAtItsNewTime() {
    appoint("trip|stuck", Duration.ZERO);
    start();
    pass(Duration.ofMinutes(5));
    woken.clear();
    appoint("trip|stuck", Duration.ofMinutes(6));
    pass(Duration.ofSeconds(59));
    assertThat(woken).isEmpty();
    pass(Duration.ofSeconds(1));
    assertThat(woken).containsExactly("trip|stuck");
  }

  @Test
  void aStoreThatFailsIsAskedAgain() {
    appoint("trip|a", Duration.ofSeconds(12));
    broken = true;
    start();
    pass(Duration.ofSeconds(20));
    assertThat(woken).isEmpty();
    broken = false;
    pass(Alarms.LOOK);
    assertThat(woken).containsExactly("trip|a");
  }
}
