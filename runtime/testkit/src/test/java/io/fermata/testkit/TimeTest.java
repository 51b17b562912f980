package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Time is an event: what a run waits for comes, whatever happens to the host meanwhile. */
@Tag("slow")
class TimeTest {
  private static final Duration TICK = Duration.ofSeconds(5);
  private static final int MOST_TICKS = 1_000;

  record Parcel(
      String address, @Computed String paid, @Computed List<String> log, @Computed String note) {}

  @TempDir Path directory;
  private final List<String> seen = new CopyOnWriteArrayList<>();

  private Store store() {
    return Store.sqlite(directory.resolve("time.db"));
  }

  private SessionProbe probe(Flow<Parcel> flow) {
    return SessionProbe.of(flow, store());
  }

  private SessionProbe probe(Flow<Parcel> flow, UnaryOperator<Settings> settings) {
    return SessionProbe.of(flow, store(), host -> host.settings(settings.apply(Settings.DEFAULT)));
  }

  /** Lets time pass slowly until something has come about. */
  static void passTimeUntil(SessionProbe probe, BooleanSupplier condition) {
    boolean met = condition.getAsBoolean();
    for (int tick = 0; tick < MOST_TICKS && !met; tick++) {
      probe.passTime(TICK);
      met = condition.getAsBoolean();
    }
    assertThat(met).as("what was waited for").isTrue();
  }

  private static String status(SessionProbe probe) {
    return text(probe.status().reply(), "/status");
  }

  private static String text(ToolReply reply, String path) {
    return reply.structured().at(path).asText();
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
  }

  private static FlowBuilder<Parcel> parcel() {
    return Flow.of("parcel", Parcel.class)
        .description("Sends a parcel.")
        .act("note", run -> run.append("log", "done"))
        .edge("note", END)
        .result(p -> p);
  }

  private static Flow<Parcel> sleeping(Duration time) {
    return parcel().sleep("sleep", time).edge(START, "sleep").edge("sleep", "note").compile();
  }

  @Test
  void aCallWaitsForAShortSleep() {
    try (SessionProbe probe = probe(sleeping(Duration.ofSeconds(5))).manualTime()) {
      probe.start("to send").completes();
    }
  }

  @Test
  void aHostInManualTimeLeavesNoThreadsBehindAndStashesAllThatALongTimeBrings()
      throws InterruptedException {
    Set<Thread> before = Thread.getAllStackTraces().keySet();
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    log.start();
    root.addAppender(log);
    Level usual = root.getLevel();
    root.setLevel(Level.WARN);
    try (SessionProbe probe = probe(sleeping(Duration.ofDays(3))).manualTime()) {
      probe.start("to send").waitsFor("time");
      probe.passTime(Duration.ofDays(2)).status().waitsFor("time");
      probe.crash().status().waitsFor("time");
    } finally {
      root.setLevel(usual);
      root.detachAppender(log);
    }
    assertThat(log.list)
        .noneMatch(event -> event.getFormattedMessage().contains("Stash buffer is full"));
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (!before.contains(thread) && !thread.isDaemon()) {
        thread.join(TimeUnit.SECONDS.toMillis(30));
        assertThat(thread.isAlive()).as(thread.getName()).isFalse();
      }
    }
  }

  @Test
  void tenMonthsPassAsFastAsADayAndWaitsThatFollowEachOtherEndInThem() {
    long day = passing(Duration.ofHours(8), Duration.ofHours(15));

    assertThat(passing(Duration.ofDays(100), Duration.ofDays(200))).isLessThan(20 * day);
  }

  /** How long it really takes until a run has slept twice. */
  private long passing(Duration summer, Duration winter) {
    seen.clear();
    Flow<Parcel> flow =
        parcel()
            .sleep("summer", summer)
            .act("count", run -> seen.add(run.id()))
            .sleep("winter", winter)
            .ask("ask", q -> q.question("address", "Where to?"))
            .edge(START, "summer")
            .edge("summer", "count")
            .edge("count", "winter")
            .edge("winter", "ask")
            .edge("ask", "note")
            .compile();
    Store store = Store.sqlite(directory.resolve(winter + ".db"));
    try (SessionProbe probe = SessionProbe.of(flow, store).manualTime()) {
      probe.start("to send").waitsFor("time");
      long begun = System.nanoTime();
      probe.passTime(summer.plus(winter).plus(Duration.ofHours(1)));
      long passed = System.nanoTime() - begun;
      assertThat(seen).hasSize(1);
      probe.status().asks("address");
      return passed;
    }
  }

  @Test
  void everyOccurrenceOfAScheduleHasStartedItsRunWithinTheTimeThatPasses() {
    Flow<Parcel> flow =
        parcel()
            .act("count", run -> seen.add(run.intent()))
            .edge(START, "count")
            .edge("count", "note")
            .compile();
    try (SessionProbe probe =
        SessionProbe.of(
                flow,
                store(),
                host ->
                    host.schedule(Schedule.of("daily", "parcel").cron("0 12 * * *"))
                        .schedule(Schedule.of("each_day", "parcel").every(Duration.ofDays(1))))
            .manualTime()) {
      for (int day = 1; day <= 3; day++) {
        probe.passTime(Duration.ofDays(1));
        assertThat(seen).as("the runs of day " + day).hasSize(2 * day);
      }
      probe.restart().passTime(Duration.ofDays(5));
      assertThat(seen).hasSize(16);
      probe.as(Schedule.PRINCIPAL).meta("fermata/sessionId", "daily/2026-01-08T12:00:00Z");
      probe.again().completes();
    }
  }

  @Test
  void noOccurrenceOfAScheduleIsMissedWhileARunWaitsForARetry() {
    Flow<Parcel> flow =
        parcel()
            .act(
                "send",
                run -> {
                  seen.add(run.id());
                  if (seen.size() == 1) {
                    throw new IllegalStateException("busy");
                  }
                },
                options -> options.retry(3, Duration.ofMinutes(10)))
            .edge(START, "send")
            .edge("send", "note")
            .compile();
    Schedule schedule = Schedule.of("each_minute", "parcel").every(Duration.ofMinutes(1));
    try (SessionProbe probe =
        SessionProbe.of(flow, store(), host -> host.schedule(schedule)).manualTime()) {
      probe.passTime(Duration.ofMinutes(15));
      assertThat(seen).as("the attempts").hasSize(16);
      assertThat(Set.copyOf(seen)).as("the runs").hasSize(15);
    }
  }

  @Test
  void aStepIsRetriedWithinTheTimeThatPasses() {
    Flow<Parcel> flow =
        parcel()
            .sleep("sleep", Duration.ofHours(1))
            .act(
                "send",
                run -> {
                  seen.add(run.id());
                  if (seen.size() < 3) {
                    throw new IllegalStateException("busy");
                  }
                },
                options -> options.retry(3, Duration.ofMinutes(1)))
            .edge(START, "sleep")
            .edge("sleep", "send")
            .edge("send", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").waitsFor("time");
      long begun = System.nanoTime();
      probe.passTime(Duration.ofHours(2));
      // Not as long as the pause before one retry.
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofMinutes(1));
      assertThat(seen).hasSize(3);
      probe.status().completes();
    }
  }

  @Test
  void whatFollowsARetryThatWaitsAlreadyEndsWithinTheTimeThatPasses() {
    sleepsAfterARetry(Duration.ofMinutes(1));
  }

  @Test
  void soDoesWhatFollowsARetryAfterALongPause() {
    sleepsAfterARetry(Duration.ofHours(6));
  }

  private void sleepsAfterARetry(Duration pause) {
    Flow<Parcel> flow =
        parcel()
            .act(
                "send",
                run -> {
                  seen.add(run.id());
                  if (seen.size() == 1) {
                    throw new IllegalStateException("busy");
                  }
                },
                options -> options.retry(3, pause))
            .sleep("sleep", Duration.ofDays(1))
            .edge(START, "send")
            .edge("send", "sleep")
            .edge("sleep", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").fails("still_working").passTime(Duration.ofDays(3));
      assertThat(seen).hasSize(2);
      probe.again().completes();
    }
  }

  @Test
  void aCallLearnsAtOnceThatARunSleepsForLong() {
    try (SessionProbe probe = probe(sleeping(Duration.ofDays(1)))) {
      ToolReply reply = probe.start("to send").waitsFor("time").reply();
      assertThat(reply.error()).isFalse();
      assertThat(text(reply, "/description")).endsWith("after " + text(reply, "/until") + ".");
    }
  }

  @Test
  void aRunThatWaitsForASignalSaysForWhichHowLongAndWhatToDoMeanwhile() {
    Flow<Parcel> flow =
        parcel()
            .waitFor("await_payment", "paid", "paid")
            .deadline("await_payment", Duration.ofDays(3), "note")
            .edge(START, "await_payment")
            .edge("await_payment", "note")
            .compile();
    try (SessionProbe probe = probe(flow)) {
      ToolReply reply = probe.start("to send").waitsFor("signal paid").reply();
      assertThat(reply.error()).isFalse();
      assertThat(Instant.parse(text(reply, "/until")))
          .isAfter(Instant.now().plus(Duration.ofDays(2)));
      assertThat(text(reply, "/description"))
          .containsPattern("for the signal paid until \\d{4}-\\d{2}-\\d{2}T")
          .contains("Tell the user and end the turn", "Call again", "it has happened");
    }
  }

  @Test
  void aRunSleepsForLongerThanATimerCanBeSet() {
    try (SessionProbe probe = probe(sleeping(Duration.ofDays(3650)))) {
      probe.start("to send").waitsFor("time");
      probe.crash().again().waitsFor("time").cancel().cancels();
    }
  }

  @Test
  void aClockThatIsSetBackLengthensNoDeadlineAndKeepsNoSessionAwake() {
    AtomicReference<Instant> clock = new AtomicReference<>(Instant.parse("2026-06-01T12:00:00Z"));
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Parcel> flow =
        parcel()
            .actAsync("wait", run -> gate)
            .ask("ask", q -> q.question("address", "Where to?"))
            .edge(START, "wait")
            .edge("wait", "ask")
            .edge("ask", "note")
            .compile();
    try (Fermata host =
        Fermata.host()
            .store(store())
            .flow(flow)
            .clock(clock::get)
            .settings(
                Settings.DEFAULT.callDeadline(Duration.ofMillis(200)).idle(Duration.ofMillis(200)))
            .start()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to send");
      ObjectNode session = Json.object().put("fermata/sessionId", "s");
      var reply = host.call(new ToolCall("parcel", "ann", start, session, null));
      clock.set(Objects.requireNonNull(clock.get()).minus(Duration.ofHours(1)));
      assertThat(text(now(reply), "/code")).isEqualTo("still_working");
      gate.complete(null);
      clock.set(Objects.requireNonNull(clock.get()).minus(Duration.ofHours(1)));
      eventually(() -> host.awake() == 0);
    }
  }

  @Test
  void aSleepEndsByTheClockAlthoughTheMachineWasSuspendedWhileTheSessionWasAwake() {
    AtomicReference<Instant> clock = new AtomicReference<>(Instant.parse("2026-06-01T12:00:00Z"));
    try (Fermata host =
        Fermata.host()
            .store(store())
            .flow(sleeping(Duration.ofHours(1)))
            .clock(clock::get)
            .settings(Settings.DEFAULT.idle(Duration.ofHours(2)))
            .start()) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to send");
      ObjectNode session = Json.object().put("fermata/sessionId", "s");
      ToolReply waiting = now(host.call(new ToolCall("parcel", "ann", start, session, null)));
      assertThat(text(waiting, "/status")).isEqualTo("waiting");
      assertThat(host.awake()).isEqualTo(1);
      clock.set(Instant.parse("2026-06-01T13:00:00Z"));
      ObjectNode status = Json.object().put("action", "status");
      ToolCall again = new ToolCall("parcel", "ann", status, session, null);
      eventually(() -> text(now(host.call(again)), "/status").equals("complete"));
    }
  }

  static void eventually(BooleanSupplier condition) {
    boolean met = condition.getAsBoolean();
    for (int i = 0; i < 2_400 && !met; i++) {
      pause();
      met = condition.getAsBoolean();
    }
    assertThat(met).as("what was waited for").isTrue();
  }

  private static void pause() {
    try {
      Thread.sleep(50);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aSleepEndsInItsTimeAlthoughTheHostWasLostMeanwhile() {
    try (SessionProbe probe = probe(sleeping(Duration.ofMinutes(3))).manualTime()) {
      probe.start("to send").waitsFor("time");
      probe.crash().status().waitsFor("time");
      probe.passTime(Duration.ofMinutes(2)).status().waitsFor("time");
      passTimeUntil(probe, () -> status(probe).equals("complete"));
      probe.again().completes();
    }
  }

  @Test
  void aRunThatIsWokenContinuesWithoutACallerHoweverMuchItHasToDo() {
    Flow<Parcel> flow =
        parcel()
            .sleep("sleep", Duration.ofMinutes(3))
            .act("count", run -> run.set("note", "" + run.visit()))
            .edge(START, "sleep")
            .edge("sleep", "count")
            .decide(
                "count",
                d ->
                    d.when("again", Condition.visits("count").lt(450))
                        .to("count")
                        .otherwise("note"))
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").waitsFor("time");
      passTimeUntil(probe, () -> status(probe).equals("complete"));
      probe.completesWith("note", "450");
    }
  }

  @Test
  void aRunSleepsWithoutMemoryAndIsWoken() {
    Flow<Parcel> flow =
        parcel()
            .sleep("sleep", Duration.ofHours(1))
            .act("tell", run -> seen.add(run.id()))
            .edge(START, "sleep")
            .edge("sleep", "tell")
            .edge("tell", "note")
            .compile();
    try (SessionProbe probe = probe(flow, s -> s.idle(Duration.ofMillis(200))).manualTime()) {
      probe.start("to send").waitsFor("time");
      passTimeUntil(probe, () -> probe.host().awake() == 0);
      assertThat(seen).isEmpty();
      probe.passTime(Duration.ofHours(1));
      passTimeUntil(probe, () -> seen.size() == 1);
    }
  }

  @Test
  void aQuestionThatNobodyAnswersIsAbandonedAtItsDeadline() {
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .act("give_up", run -> run.set("note", "given up"))
            .deadline("ask_address", Duration.ofMinutes(4), "give_up")
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .edge("give_up", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").asks("address");
      probe.passTime(Duration.ofMinutes(3)).again().asks("address");
      passTimeUntil(probe, () -> text(probe.again().reply(), "/status").equals("complete"));
    }
  }

  @Test
  void anExpiredRunIsDistinguished() {
    Flow<Parcel> flow =
        parcel()
            .expireAfter(Duration.ofHours(1))
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime().meta("fermata/sessionId", "s")) {
      probe.start("to send").asks("address").passTime(Duration.ofHours(2));
      probe.answer("address", "here").fails("run_expired");
      probe.status().fails("run_expired");
      probe.start("to send").asks("address");
    }
  }

  @Test
  void somebodyIsRemindedAsOftenAsDeclared() {
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .remind("ask_address", Duration.ofSeconds(10), 3, run -> seen.add(run.idempotencyKey()))
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").asks("address");
      passTimeUntil(probe, () -> seen.size() == 3);
      probe.passTime(Duration.ofMinutes(1));
      assertThat(seen).hasSize(3).doesNotHaveDuplicates();
      probe.answer("address", "here").completes();
    }
  }

  @Test
  @Tag("long")
  @Tag("slow")
  void everyReminderOfALongTimeIsGivenInOneStep() {
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .remind("ask_address", Duration.ofMinutes(30), 1_200, run -> seen.add("" + run.id()))
            .edge(START, "ask_address")
            .edge("ask_address", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").asks("address");
      probe.passTime(Duration.ofDays(26));
      assertThat(seen).hasSize(1_200);
    }
  }

  @Test
  @Tag("long")
  void timeWaitsWhileAHostComputes() {
    Flow<Parcel> flow =
        parcel()
            .ask("ask_address", q -> q.question("address", "Where to?"))
            .decide(START, d -> d.when("slow", p -> slow()).to("ask_address").otherwise("note"))
            .edge("ask_address", "note")
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").asks("address");
    }
  }

  /** For longer than a call waits, if time passed. */
  private static boolean slow() {
    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(8));
    return true;
  }

  private static Flow<Parcel> paid() {
    return parcel()
        .waitFor("await_payment", "paid", "paid")
        .edge(START, "await_payment")
        .edge("await_payment", "note")
        .compile();
  }

  @Test
  void aProbeSendsASignalToItsRun() {
    try (SessionProbe probe = probe(paid())) {
      probe.start("to send").waitsFor("signal paid");
      probe.signal("payd", "x").fails("unknown_signal");
      probe.crash().signal("paid", "by card").completesWith("paid", "by card");
    }
  }

  @Test
  void aSignalFromOutsideGoesToTheRunThatWaitsForIt() {
    try (SessionProbe probe = probe(paid())) {
      String run = runId(probe.start("to send").waitsFor("signal paid"));
      probe.crash();
      assertThat(code(signal(probe, run, "payd", "x"))).isEqualTo("unknown_signal");
      assertThat(code(signal(probe, run, "paid", List.of(1)))).isEqualTo("invalid_signal");
      assertThat(code(signal(probe, run + "x", "paid", "x"))).isEqualTo("unknown_run");
      assertThat(text(signal(probe, run, "paid", "by card"), "/result/paid")).isEqualTo("by card");
      assertThat(code(signal(probe, run, "paid", "twice"))).isEqualTo("run_completed");
      // It gets what was there before it came.
      probe.again().completesWith("paid", "by card").again().fails("run_completed");
    }
  }

  @Test
  void whyARunFailedIsReportedToTheClientThatWasNotThere() {
    Flow<Parcel> flow =
        parcel()
            .endOnFailure()
            .waitFor("await_payment", "paid", "paid")
            .deadline("await_payment", Duration.ofMinutes(3), "give_up")
            .act(
                "give_up",
                run -> {
                  throw new StepException("Nobody has paid.");
                })
            .edge(START, "await_payment")
            .edge("await_payment", "note")
            .edge("give_up", END)
            .compile();
    try (SessionProbe probe = probe(flow).manualTime()) {
      probe.start("to send").waitsFor("signal paid").passTime(Duration.ofMinutes(3));
      passTimeUntil(probe, () -> code(probe.status().reply()).equals("run_failed"));
      probe.crash().status().saying("Nobody has paid.");
      probe.again().fails("run_failed").saying("Nobody has paid.");
      probe.again().fails("run_failed");
      assertThat(text(probe.reply(), "/error"))
          .as("what is kept once it was reported")
          .doesNotContain("Nobody");
    }
  }

  @Test
  void aSignalIsAcceptedWhileACallWaitsForTheTime() {
    acceptsASignalWhileACallWaits(options -> {});
  }

  @Test
  void aSignalIsAcceptedWhileACallWaitsForTheTimeAndNothingOfItIsJournaledYet() {
    acceptsASignalWhileACallWaits(EffectOptions::idempotent);
  }

  private void acceptsASignalWhileACallWaits(Consumer<EffectOptions> order) {
    Flow<Parcel> flow =
        parcel()
            .act("order", run -> seen.add(run.id()), order)
            .waitFor("await_payment", "paid", "paid")
            .sleep("patience", Duration.ofSeconds(11))
            .edge(START, "order")
            .fork("order", f -> f.branch("await_payment").branch("patience").join("note").first())
            .edge("patience", "note")
            .edge("await_payment", "note")
            .compile();
    try (SessionProbe probe = probe(flow)) {
      Fermata host = probe.host();
      CompletableFuture<SessionProbe> waiting =
          CompletableFuture.supplyAsync(() -> probe.start("to send"));
      eventually(() -> seen.size() == 1);
      String run = seen.get(0);
      assertThat(code(now(host.signal("parcel", run, "payd", "x", null))))
          .isEqualTo("unknown_signal");
      assertThat(waiting).isNotDone();
      ToolReply signalled = now(host.signal("parcel", run, "paid", "by card", null));
      assertThat(text(signalled, "/result/paid")).isEqualTo("by card");
      now(waiting).completesWith("paid", "by card");
    }
  }

  private static String runId(SessionProbe probe) {
    return probe.reply().meta().at("/fermata~1run/runId").asText();
  }

  private static String code(ToolReply reply) {
    return text(reply, "/code");
  }

  private static ToolReply signal(SessionProbe probe, String run, String name, Object payload) {
    return now(probe.host().signal("parcel", run, name, payload, null));
  }
}
