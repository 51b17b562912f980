package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.record.Because;
import io.fermata.flow.record.Because.Kind;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.Trace;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Why a field has the value that it has. */
class TraceTest {
  private final Trips trips = new Trips();

  private Driver whole() {
    trips.bankFailures = 1;
    Driver trip = new Driver(trips.builder().compile());
    Trips.whole(trip);
    return trip;
  }

  private static Trace trace(Driver run) {
    return Trace.of(run.program.flow(), run.journal);
  }

  private static Stream<Because> all(Because because) {
    return Stream.concat(Stream.of(because), because.reasons().stream().flatMap(TraceTest::all));
  }

  private static List<String> subjects(Because because, Kind kind) {
    return all(because).filter(b -> b.kind() == kind).map(Because::subject).distinct().toList();
  }

  @Test
  void aValueIsTracedThroughReadsJoinsSubflowsAnswersAndDecisions() {
    assertThat(trace(whole()).why("receipt").toString())
        .isEqualTo(
            """
            receipt = "R-1234" because pay#1 set it
              price = 300 because the branches after ask_trip#1 joined
                price = 300 because sub-flow stay gave it
                  stay.cost = 300 because ask_trip#1:stay|stay/cost#1 set it
                    stay.town = "Tokyo" because sub-flow stay was given it
                      city = "Tokyo" because the validator of ask_trip#1 made it so
                        city = "tokio" because the client answered ask_trip#1
                    stay.nights = 3 because the client answered ask_trip#1:stay|stay/ask_nights#1
              pin = "1234" because the client answered ask_pin#2
                ask_pin#1 chose ask_pin, as pin was "none"
                  pin = "none" because the client answered ask_pin#1
            """);
  }

  @Test
  void whatAStepDidNotReadIsNoReason() {
    Because why = trace(whole()).why("receipt");
    assertThat(all(why).map(Because::subject)).doesNotContain("flight", "people", "passport");
  }

  @Test
  void aDecisionBehindWhichTheRunHadToComeThereAnywayIsNoReason() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .act("left", run -> {})
                .act("right", run -> {})
                .act("sum", run -> run.set("computed", run.get("b", String.class)))
                .edge(START, "ask_a")
                .decide("ask_a", d -> d.when(eq("a", "x")).to("left").otherwise("right"))
                .edge("left", "sum")
                .edge("right", "sum")
                .edge("sum", END)
                .compile());
    talk.start("a", "x", "b", "y");
    Because why = trace(talk).why("computed");
    assertThat(subjects(why, Kind.DECISION)).isEmpty();
    assertThat(subjects(why, Kind.ANSWER)).containsExactly("b");
  }

  @Test
  void theItemsOfAListAreReasonsForItsResults() {
    Because why = trace(whole()).why("badges");
    assertThat(why.kind()).isEqualTo(Kind.JOIN);
    assertThat(subjects(why, Kind.ACTION))
        .containsExactlyInAnyOrder("badges_for.0.badge", "badges_for.1.badge");
    assertThat(subjects(why, Kind.ANSWER)).containsExactly("names");
    assertThat(subjects(why, Kind.DECISION)).as("the way out of the list came later").isEmpty();
  }

  @Test
  void aSignalIsAReason() {
    Because why = trace(whole()).why("paid");
    assertThat(why.kind()).isEqualTo(Kind.SIGNAL);
    assertThat(why.value()).isEqualTo(Json.tree("yes"));
  }

  @Test
  void aValueThatACorrectionBroughtBackIsTracedToWhereItCameFrom() {
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    trip.reset("passport", "P-78");
    Trace trace = trace(trip);
    assertThat(trace.why("passport").value()).isEqualTo(Json.tree("P-78"));
    assertThat(trace.why("price").toString()).contains("stay.cost = 300");
  }

  @Test
  void aFieldThatOnlyABranchKnowsYetIsTracedThere() {
    Driver trip = new Driver(trips.builder().compile());
    trip.start("city", "Rome", "people", 2);
    trip.proceed("flight", "F1");
    Because why = trace(trip).why("flight");
    assertThat(why.kind()).isEqualTo(Kind.ANSWER);
    assertThat(why.value()).isEqualTo(Json.tree("F1"));
  }

  @Test
  void anotherRunThatContinuesMeanwhileIsNotMixedIn() {
    Flow<Flows.Talk> flow = Flows.chain(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b").compile();
    Driver older = new Driver(flow);
    older.start();
    older.proceed("a", "old");
    Driver newer = new Driver(flow);
    newer.call(new Input.Start("newer", "to test", Driver.object("a", "new"), 1));
    Trace trace = new Trace(flow);
    RunObserver first = RunObserver.of(flow, "s1", trace);
    RunObserver second = RunObserver.of(flow, "s2", trace);
    Driver.Entry start = older.entries.get(0);
    first.record(start.seq(), start.at(), start.events());
    newer.entries.forEach(e -> second.record(e.seq(), e.at(), e.events()));
    Driver.Entry later = older.entries.get(1);
    first.record(later.seq(), later.at(), later.events());
    assertThat(trace.why("a").value()).isEqualTo(Json.tree("new"));
  }

  @Test
  void aFieldThatNobodyWroteSaysSo() {
    Because why = trace(whole()).why("nothing");
    assertThat(why.kind()).isEqualTo(Kind.UNWRITTEN);
    assertThat(why.text()).isEqualTo("nothing has no value: nobody wrote it");
  }

  @Test
  void partsOfAValueAreTracedOneByOne() {
    Driver talk =
        drive(
            talk()
                .act(
                    "one",
                    run -> run.append("log", Objects.requireNonNull(run.get("a", String.class))))
                .act(
                    "two",
                    run -> run.append("log", Objects.requireNonNull(run.get("b", String.class)))),
            "one",
            "two");
    talk.start("a", "x", "b", "y");
    Because why = trace(talk).why("log");
    assertThat(why.text()).isEqualTo("log was written in 2 parts");
    assertThat(subjects(why, Kind.ANSWER)).containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void theWayForwardShowsWhatAValueWentInto() {
    Because fed = trace(whole()).fed("city");
    assertThat(all(fed).map(Because::subject))
        .contains("stay.cost", "price", "receipt", "badges_for")
        .doesNotContain("flight", "paid");
  }

  @Test
  void aTreeThatGrowsTooLargeSaysThatItEnds() {
    Trace trace = trace(whole());
    assertThat(trace.why("receipt", 2, 100).truncated()).isTrue();
    assertThat(trace.why("receipt", 20, 3).truncated()).isTrue();
    assertThat(trace.why("receipt").truncated()).isFalse();
  }

  @Test
  void aRunThatIsWatchedIsTracedLikeOneThatIsReadBack() {
    Driver trip = whole();
    Trace live = new Trace(trip.program.flow());
    RunObserver recording = RunObserver.of(trip.program.flow(), "s", live);
    trip.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
    assertThat(live.why("receipt").toString().replaceAll(" \\(record \\d+\\)", ""))
        .isEqualTo(trace(trip).why("receipt").toString());
    assertThat(live.why("receipt").text()).endsWith("pay#1 set it (record 13)");
  }
}
