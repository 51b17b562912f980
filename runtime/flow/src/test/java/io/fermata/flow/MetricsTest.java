package io.fermata.flow;

import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.record.Metrics;
import io.fermata.flow.record.RunObserver;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What is counted of runs. */
class MetricsTest {
  private final Trips trips = new Trips();

  private static Metrics counted(Driver run) {
    Metrics metrics = new Metrics();
    RunObserver recording = RunObserver.of(run.program.flow(), "s", metrics);
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
    return metrics;
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
    assertThat(runs.lived()).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
    assertThat(metrics.node("talk", "ask_a").abandoned()).isEqualTo(2);
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
}
