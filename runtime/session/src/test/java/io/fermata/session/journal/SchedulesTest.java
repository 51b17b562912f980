package io.fermata.session.journal;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.Flow;
import io.fermata.flow.action.Run;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.TestHost;
import io.fermata.session.admin.MissedRuns;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.host.ScheduleActor;
import io.fermata.sqlite.Forgery;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.pekko.actor.testkit.typed.javadsl.ManualTime;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** What schedules promise, on a real SQLite file, in time that passes as the test says. */
@Tag("slow")
class SchedulesTest {
  /** The store works in real time, however much of the other passes meanwhile. */
  private static final Config MANUAL_TIME =
      ConfigFactory.parseString(
              """
              pekko.persistence {
                journal-plugin-fallback {
                  recovery-event-timeout = 30d
                  circuit-breaker.call-timeout = 30d
                }
                snapshot-store-plugin-fallback.circuit-breaker.call-timeout = 30d
              }
              """)
          .withFallback(ManualTime.config());

  record Report(String region, @Computed String written) {}

  private static final Schedule NIGHTLY =
      Schedule.of("nightly", "report")
          .cron("0 3 * * *")
          .zone(ZoneId.of("Europe/Berlin"))
          .intent("nightly report")
          .updates(Map.of("region", "north"));

  /** No call of its host comes to its deadline. */
  private static final Settings PATIENT = Settings.DEFAULT.callDeadline(Duration.ofHours(1));

  private static final Logger LOGGER =
      (Logger) LoggerFactory.getLogger(ScheduleActor.class.getName());

  @TempDir Path dir;

  private final List<String> runs = new CopyOnWriteArrayList<>();
  private final List<String> written = new CopyOnWriteArrayList<>();
  private final CompletableFuture<Void> hanging = new CompletableFuture<>();
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();
  private volatile boolean hangs;
  private volatile Instant now = Instant.parse("2026-06-01T12:00:00Z");
  private @Nullable Fermata host;

  private Flow<Report> report() {
    return Flow.of("report", Report.class)
        .description("Writes a report.")
        .ask("ask_region", q -> q.question("region", "Which region?"))
        .actAsync("write", this::write, options -> options.timeout(Duration.ofDays(30)))
        .edge(START, "ask_region")
        .edge("ask_region", "write")
        .edge("write", END)
        .result(report -> report)
        .compile();
  }

  private CompletableFuture<?> write(Run<Report> run) {
    runs.add(run.id());
    written.add(run.intent() + " " + run.state().region());
    return hangs ? hanging : CompletableFuture.completedFuture(null);
  }

  @BeforeEach
  void listen() {
    log.start();
    LOGGER.setLevel(Level.WARN);
    LOGGER.setAdditive(false);
    LOGGER.addAppender(log);
  }

  private boolean logged(String words) {
    return List.copyOf(log.list).stream()
        .anyMatch(event -> event.getFormattedMessage().contains(words));
  }

  @AfterEach
  void close() {
    LOGGER.detachAppender(log);
    LOGGER.setAdditive(true);
    LOGGER.setLevel(null);
    if (host != null) {
      host.close();
    }
  }

  private static Schedule every(Duration time) {
    return Schedule.of("nightly", "report").every(time).updates(Map.of("region", "north"));
  }

  private Fermata start(Schedule schedule) {
    return start(schedule, Settings.DEFAULT);
  }

  private Fermata start(Schedule schedule, Settings settings) {
    Fermata started =
        Fermata.host()
            .store(Store.sqlite(dir.resolve("test.db")))
            .flow(report())
            .schedule(schedule)
            .settings(settings)
            .clock(() -> now)
            .config(MANUAL_TIME)
            .start();
    host = started;
    return started;
  }

  /** Starts a host and waits until it knows the schedule. */
  private Fermata begin(Schedule schedule) {
    return begin(schedule, Settings.DEFAULT);
  }

  private Fermata begin(Schedule schedule, Settings settings) {
    Fermata started = start(schedule, settings);
    untilDone(now.toString());
    return started;
  }

  /** The clock jumps; the timers follow slowly while the test waits. */
  private void clock(String time) {
    now = Instant.parse(time);
  }

  private void until(BooleanSupplier condition) {
    Fermata running = Objects.requireNonNull(host);
    for (int look = 0; look < 1_200 && !condition.getAsBoolean(); look++) {
      ManualTime.get(running.system()).timePasses(Duration.ofSeconds(10));
    }
    assertThat(condition.getAsBoolean()).as("what was waited for").isTrue();
  }

  /** Waits until all that came until then has been started, and time for more has passed. */
  private void untilDone(String time) {
    long upTo = Instant.parse(time).toEpochMilli();
    until(() -> journaled().upTo() == upTo && !journaled().starting());
    ManualTime.get(Objects.requireNonNull(host).system()).timePasses(Duration.ofMinutes(2));
    assertThat(journaled().upTo()).isEqualTo(upTo);
  }

  /** Waits until as many runs have written their reports. */
  private void wrote(int reports) {
    until(() -> written.size() >= reports);
    assertThat(runs).hasSize(reports);
  }

  private ScheduleEntry journaled() {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "select event_payload from event_journal where persistence_id ="
                    + " '~schedule|nightly' order by sequence_number desc limit 1")) {
      return row.next()
          ? (ScheduleEntry) new JournalSerializer().fromBinary(row.getBytes(1), "schedule:1")
          : ScheduleEntry.NONE;
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  private Connection connect() throws SQLException {
    return DriverManager.getConnection("jdbc:sqlite:" + dir.resolve("test.db"));
  }

  private static boolean ended(Fermata host, String session) {
    try {
      ToolReply reply = call(host, session, Json.object().put("action", "status"));
      return TestHost.status(reply).equals("complete");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static ToolReply call(Fermata host, String session, ObjectNode arguments)
      throws Exception {
    ObjectNode meta = Json.object().put("fermata/sessionId", session);
    return host.call(new ToolCall("report", Schedule.PRINCIPAL, arguments, meta, null))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  @Test
  void anOccurrenceStartsARunWithWhatTheScheduleSays() {
    begin(NIGHTLY);
    assertThat(runs).as("a new schedule has no past").isEmpty();

    clock("2026-06-02T00:59:59Z");
    untilDone("2026-06-01T12:00:00Z");
    assertThat(runs).isEmpty();

    clock("2026-06-02T01:00:00Z");
    untilDone("2026-06-02T01:00:00Z");
    wrote(1);
    assertThat(written).containsExactly("nightly report north");
  }

  @Test
  void eachOccurrenceStartsOneRunThroughRestarts() {
    begin(NIGHTLY).close();
    for (int day = 2; day < 6; day++) {
      clock("2026-06-0" + day + "T00:30:00Z");
      start(NIGHTLY);
      clock("2026-06-0" + day + "T01:00:00.5Z");
      untilDone("2026-06-0" + day + "T01:00:00Z");
      wrote(day - 1);
      Objects.requireNonNull(host).close();
      start(NIGHTLY);
      untilDone("2026-06-0" + day + "T01:00:00Z");
      Objects.requireNonNull(host).close();
    }
    assertThat(runs).hasSize(4).doesNotHaveDuplicates();
  }

  @Test
  void ofWhatWasMissedOnlyTheLatestStartsARun() throws Exception {
    begin(NIGHTLY).close();
    clock("2026-06-04T12:00:00Z");
    Fermata late = start(NIGHTLY);
    untilDone("2026-06-04T01:00:00Z");
    wrote(1);
    assertThat(late.awake()).as("a schedule is no session").isLessThanOrEqualTo(1);
  }

  @Test
  void everythingThatWasMissedStartsARunIfTheScheduleSaysSo() {
    Schedule all = NIGHTLY.missed(MissedRuns.ALL);
    begin(all).close();
    clock("2026-06-04T12:00:00Z");
    start(all);
    untilDone("2026-06-04T01:00:00Z");
    wrote(3);
    assertThat(runs).doesNotHaveDuplicates();
  }

  @Test
  @Tag("long")
  void notMoreThanAThousandMissedOccurrencesStartRuns() {
    Schedule all = every(Duration.ofSeconds(1)).missed(MissedRuns.ALL);
    begin(all).close();
    clock("2026-06-01T12:20:00Z");
    start(all);
    untilDone("2026-06-01T12:20:00Z");
    wrote(1_000);
    assertThat(runs).doesNotHaveDuplicates();
  }

  @Test
  void nothingThatWasMissedStartsARunIfTheScheduleSaysSo() {
    Schedule none = NIGHTLY.missed(MissedRuns.NONE);
    begin(none).close();
    clock("2026-06-04T12:00:00Z");
    start(none);
    untilDone("2026-06-04T01:00:00Z");
    assertThat(runs).isEmpty();
    clock("2026-06-05T01:00:01Z");
    untilDone("2026-06-05T01:00:00Z");
    wrote(1);
  }

  @Test
  void aRunWhoseStartWasCutOffByACrashIsTheSameRunAfterwards() {
    for (MissedRuns missed : MissedRuns.values()) {
      runs.clear();
      written.clear();
      hangs = true;
      Schedule schedule = NIGHTLY.missed(missed);
      clock("2026-06-01T12:00:00Z");
      Fermata first = begin(schedule);
      clock("2026-06-02T01:00:00Z");
      until(() -> runs.size() == 1);
      first.crash();
      hangs = false;
      clock("2026-06-02T12:00:00Z");
      start(schedule);
      untilDone("2026-06-02T01:00:00Z");
      wrote(2);
      assertThat(runs).containsOnly(runs.get(0));
      Objects.requireNonNull(host).close();
      dir = dir.resolve(missed.name());
      assertThat(dir.toFile().mkdir()).isTrue();
    }
  }

  @Test
  void aCrashBeforeTheScheduleJournaledWhatItStartedStartsNothingTwice() throws Exception {
    Fermata first = begin(NIGHTLY);
    clock("2026-06-02T01:00:00Z");
    untilDone("2026-06-02T01:00:00Z");
    until(() -> ended(first, "nightly/2026-06-02T01:00:00Z"));
    first.crash();
    forgetThatItStarted();
    start(NIGHTLY);
    untilDone("2026-06-02T01:00:00Z");
    wrote(1);
    assertThat(logged("returned")).isFalse();
  }

  /** The journal as it is after a crash before the schedule got the reply to its call. */
  private void forgetThatItStarted() throws SQLException {
    ScheduleEntry done = journaled();
    ScheduleEntry before = new ScheduleEntry(done.at(), done.rhythm(), done.upTo(), true);
    try (Connection connection = connect();
        PreparedStatement update =
            connection.prepareStatement(
                "update event_journal set event_payload = ?"
                    + " where persistence_id = '~schedule|nightly'")) {
      update.setBytes(1, new JournalSerializer().toBinary(before));
      update.executeUpdate();
    }
    Forgery.seal(dir.resolve("test.db"));
    assertThat(journaled()).isEqualTo(before);
  }

  @Test
  void aChangedScheduleContinuesFromNow() {
    begin(NIGHTLY).close();
    clock("2026-06-02T12:00:00Z");
    Schedule changed = NIGHTLY.cron("0 4 * * *");
    start(changed);
    untilDone("2026-06-02T12:00:00Z");
    assertThat(runs).isEmpty();
    clock("2026-06-03T02:00:00Z");
    untilDone("2026-06-03T02:00:00Z");
    wrote(1);
  }

  @Test
  void aScheduleThatIsAheadOfTheClockSaysWhyItStartsNothing() {
    begin(NIGHTLY).close();
    clock("2026-09-01T12:00:00Z");
    start(NIGHTLY);
    untilDone("2026-09-01T01:00:00Z");
    Objects.requireNonNull(host).close();
    assertThat(logged("starts nothing until")).isFalse();
    clock("2026-06-02T12:00:00Z");
    start(NIGHTLY);
    until(() -> logged("nightly starts nothing until 2026-09-01T01:00:00Z"));
    wrote(1);
  }

  @Test
  void aScheduleThatBeganWhenTheClockWasAheadSaysSo() {
    clock("2026-06-02T18:00:00Z");
    begin(NIGHTLY).close();
    clock("2026-06-01T12:00:00Z");
    start(NIGHTLY);
    until(() -> logged("nightly starts nothing until 2026-06-02T18:00:00Z"));
  }

  @Test
  void anIntervalKeepsItsBeatThroughARestart() {
    Schedule hourly = every(Duration.ofHours(1));
    begin(hourly);
    clock("2026-06-01T13:00:10Z");
    untilDone("2026-06-01T13:00:00Z");
    Objects.requireNonNull(host).close();
    clock("2026-06-01T15:30:00Z");
    start(hourly);
    untilDone("2026-06-01T15:00:00Z");
    wrote(2);
  }

  @Test
  void aRunThatIsRefusedIsLoggedAndTheScheduleContinues() {
    begin(NIGHTLY.updates(Map.of("region", "north".repeat(60_000))));
    clock("2026-06-02T01:00:00Z");
    untilDone("2026-06-02T01:00:00Z");
    assertThat(logged("nightly started for 2026-06-02T01:00:00Z returned state_too_large"))
        .isTrue();
    clock("2026-06-03T01:00:00Z");
    untilDone("2026-06-03T01:00:00Z");
    assertThat(runs).isEmpty();
  }

  @Test
  void aRunThatPausesCanBeReachedByItsNames() throws Exception {
    Fermata running = begin(NIGHTLY.updates(Map.of()));
    clock("2026-06-02T01:00:00Z");
    untilDone("2026-06-02T01:00:00Z");
    String session = "nightly/2026-06-02T01:00:00Z";
    ObjectNode ask = Json.object().put("action", "continue");
    assertThat(TestHost.field(call(running, session, ask.deepCopy()))).isEqualTo("region");
    ask.putObject("stateUpdates").put("region", "south");
    assertThat(TestHost.status(call(running, session, ask))).isEqualTo("complete");
    assertThat(written).containsExactly("nightly report south");
  }

  @Test
  void occurrencesThatComeWhileAnEarlierRunWorksStartRunsOfTheirOwn() {
    hangs = true;
    begin(every(Duration.ofSeconds(10)).missed(MissedRuns.NONE), PATIENT);
    for (int run = 1; run <= 3; run++) {
      clock("2026-06-01T12:00:" + run * 10 + "Z");
      wrote(run);
      untilDone("2026-06-01T12:00:" + run * 10 + "Z");
    }
    assertThat(runs).doesNotHaveDuplicates();
    hanging.complete(null);
  }

  @Test
  void aRunThatWorksOnAfterACrashDoesNotHoldUpTheNext() throws Exception {
    hangs = true;
    begin(NIGHTLY);
    clock("2026-06-02T01:00:00Z");
    wrote(1);
    untilDone("2026-06-02T01:00:00Z");
    Objects.requireNonNull(host).crash();
    forgetThatItStarted();
    start(NIGHTLY, PATIENT);
    wrote(2);
    clock("2026-06-03T01:00:00Z");
    wrote(3);
    assertThat(Set.copyOf(runs)).hasSize(2);
    hanging.complete(null);
  }

  @Test
  void aHostThatIsOverloadedIsCalledAgain() throws Exception {
    hangs = true;
    Schedule often = NIGHTLY.cron("* * * * *");
    clock("2026-06-01T12:00:50Z");
    Fermata busy = start(often, Settings.DEFAULT.callsInFlight(1));
    untilDone("2026-06-01T12:00:50Z");
    ObjectNode start = Json.object().put("action", "start").put("intent", "by hand");
    start.putObject("stateUpdates").put("region", "south");
    CompletableFuture<ToolReply> byHand =
        busy.call(new ToolCall("report", "ann", start, Json.object(), "x")).toCompletableFuture();
    until(() -> runs.size() == 1);
    clock("2026-06-01T12:01:00Z");
    until(() -> logged("nightly could not start its run for 2026-06-01T12:01:00Z"));
    wrote(1);
    hangs = false;
    hanging.complete(null);
    assertThat(TestHost.status(byHand.get(60, TimeUnit.SECONDS))).isEqualTo("complete");
    untilDone("2026-06-01T12:01:00Z");
    wrote(2);
    assertThat(written).containsExactly("by hand south", "nightly report north");
  }
}
