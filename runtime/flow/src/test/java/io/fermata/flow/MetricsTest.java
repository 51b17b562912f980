package io.fermata.flow;

import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.StepException;
import io.fermata.flow.record.Metrics;
import io.fermata.flow.record.RunObserver;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What is counted of runs. */
class MetricsTest {
  private final Trips trips = new Trips();

  private static Metrics counted(Driver run) {
    Metrics metrics = new Metrics();
    count(run, metrics);
    return metrics;
  }

  private static void count(Driver run, Metrics metrics) {
    RunObserver recording = RunObserver.of(run.program.flow(), "s", metrics);
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
  }

  @Test
  void aNodeIsCountedByItsVisitsItsReadsAndItsWrites() {
    trips.bankFailures = 1;
    Driver trip = new Driver(trips.builder().compile());
    Trips.whole(trip);
    Metrics metrics = counted(trip);
    Metrics.Counts pay = metrics.node("trip", "pay");
    assertThat(pay.visits()).isEqualTo(1);
    assertThat(pay.reads()).isEqualTo(2);
    assertThat(pay.writes()).isEqualTo(1);
    assertThat(pay.commits()).isEqualTo(1);
    assertThat(pay.retries()).isEqualTo(1);
    assertThat(pay.failures()).isZero();
    assertThat(metrics.node("trip", "ask_pin").visits()).isEqualTo(2);
    assertThat(metrics.node("trip", "badges_for/badge").visits()).isEqualTo(2);
    assertThat(metrics.node("trip", "nowhere").visits()).isZero();
    assertThat(metrics.nodes().keySet())
        .extracting(Metrics.Node::node)
        .startsWith("ask_trip", "ask_flight", "stay", "stay/ask_nights");
  }

  @Test
  void waitingForPeopleIsDistinguishedFromWorkAndFromOtherWaiting() {
    trips.bankFailures = 1;
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    trip.now += 60_000;
    trip.proceed("pin", "1234");
    trip.pass();
    trip.now += 120_000;
    trip.signal("receipt", "yes");
    Metrics metrics = counted(trip);
    Metrics.Counts asked = metrics.node("trip", "ask_pin");
    assertThat(asked.waitedForPeople()).isGreaterThanOrEqualTo(Duration.ofMinutes(1));
    assertThat(asked.spent()).isEqualTo(asked.waitedForPeople());
    assertThat(asked.waitedOtherwise()).isZero();
    Metrics.Counts waited = metrics.node("trip", "receipt");
    assertThat(waited.waitedOtherwise()).isGreaterThanOrEqualTo(Duration.ofMinutes(2));
    assertThat(waited.waitedForPeople()).isZero();
    Metrics.Counts pay = metrics.node("trip", "pay");
    assertThat(pay.spent()).isGreaterThanOrEqualTo(Duration.ofSeconds(5));
    assertThat(pay.worked()).isLessThan(Duration.ofSeconds(1));
  }

  @Test
  void aSubflowsNodeHasTheTimeOfAllThatIsInIt() {
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    Metrics metrics = counted(trip);
    assertThat(metrics.node("trip", "stay").spent())
        .isGreaterThanOrEqualTo(metrics.node("trip", "stay/ask_nights").spent())
        .isPositive();
  }

  @Test
  void whatBecameOfRunsIsCounted() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    talk.start();
    talk.cancel();
    talk.start();
    talk.now += 1_000;
    talk.proceed("a", "x");
    Metrics metrics = counted(talk);
    Metrics.Runs runs = metrics.runs();
    assertThat(runs.begun()).isEqualTo(3);
    assertThat(runs.abandoned()).isEqualTo(1);
    assertThat(runs.cancelled()).isEqualTo(1);
    assertThat(runs.completed()).isEqualTo(1);
    assertThat(runs.failed()).isZero();
    assertThat(runs.expired()).isZero();
    assertThat(runs.lived()).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
    assertThat(metrics.node("talk", "ask_a").abandoned()).isEqualTo(2);
  }

  @Test
  void everyRunThatBeganAndIsOverEndedInOneOfTheWays() {
    Driver talk =
        drive(
            ask(talk().expireAfter(Duration.ofDays(1)).endOnFailure(), "a")
                .act("up", run -> fail(run.state().a())),
            "ask_a",
            "up");
    talk.start();
    talk.start();
    talk.cancel();
    talk.start();
    talk.proceed("a", "x");
    talk.start();
    talk.proceed("a", "fails");
    talk.start();
    talk.pass();
    Metrics.Runs runs = counted(talk).runs();
    assertThat(runs.expired()).isEqualTo(1);
    assertThat(runs.begun())
        .isEqualTo(5)
        .isEqualTo(
            runs.completed()
                + runs.failed()
                + runs.cancelled()
                + runs.expired()
                + runs.abandoned());
  }

  private static void fail(String answer) {
    if (answer.equals("fails")) {
      throw new StepException("No.");
    }
  }

  @Test
  void aStepThatFailsForGoodIsAFailureAndAFailedRun() {
    trips.broken = true;
    Driver trip = new Driver(trips.builder().endOnFailure().compile());
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    Metrics metrics = counted(trip);
    assertThat(metrics.node("trip", "pay").failures()).isEqualTo(1);
    assertThat(metrics.runs().failed()).isEqualTo(1);
  }

  @Test
  void aForkAddsToTheCountsOfItsSourceWhatItDidItself() {
    Flow<?> inner = chain(talk().act("note", run -> run.set("computed", "x")), "note").compile();
    Driver source =
        drive(ask(ask(talk(), "a").subflow("sub", inner, m -> {}), "b"), "ask_a", "sub", "ask_b");
    source.start();
    source.now += 60_000;
    source.proceed("a", "x");
    Metrics metrics = counted(source);
    Map<Metrics.Node, Metrics.Counts> ofSource = metrics.nodes();
    Driver fork = source.fork("run-2", source.now + 1_000);
    count(fork, metrics);
    assertThat(metrics.nodes()).isEqualTo(ofSource);
    assertThat(metrics.runs().begun()).isEqualTo(2);

    Driver second = fork.fork("run-3", fork.now + 1_000);
    second.now += 60_000;
    second.proceed("b", "y");
    count(second, metrics);
    Map<Metrics.Node, Metrics.Counts> all = metrics.nodes();
    Metrics.Node last = new Metrics.Node("talk", "ask_b");
    assertThat(all).hasSize(4);
    Metrics.Counts itsOwn = Objects.requireNonNull(all.remove(last));
    assertThat(itsOwn.visits()).isEqualTo(1);
    assertThat(itsOwn.spent()).isPositive();
    ofSource.remove(last);
    assertThat(all).isEqualTo(ofSource);
    assertThat(metrics.runs().begun()).isEqualTo(3);
    assertThat(metrics.runs().completed()).isEqualTo(1);
  }

  @Test
  void aSubflowsRecorderDoesNotCountTheSourceOfAForkEither() {
    Metrics metrics = new Metrics();
    Flow<?> inner =
        chain(talk().recorder(metrics).act("note", run -> run.set("computed", "x")), "note")
            .compile();
    Driver source = drive(ask(talk().subflow("sub", inner, m -> {}), "b"), "sub", "ask_b");
    source.start();
    for (Driver run : List.of(source, source.fork("run-2", source.now))) {
      RunObserver recording = RunObserver.of(run.program.flow(), "s");
      run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
    }
    assertThat(metrics.node("talk", "sub/note").visits()).isEqualTo(1);
  }
}
