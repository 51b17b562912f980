package io.fermata.flow.event;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.in;
import static io.fermata.flow.route.Condition.lt;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.Trips;
import io.fermata.flow.action.StepException;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Kind;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How the narrative of a run reads. */
class NarrativeTest {
  private final Trips trips = new Trips();

  private static Narrative narrated(Driver run) {
    Narrative narrative = new Narrative();
    tell(run, narrative);
    return narrative;
  }

  private static void tell(Driver run, Narrative narrative) {
    RunObserver recording = RunObserver.of(run.program.flow(), "s", narrative);
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
  }

  @Test
  void aWholeRunReadsAsAnAccount() {
    trips.bankFailures = 1;
    Driver trip = new Driver(trips.builder().compile());
    Trips.whole(trip);
    assertThat(narrated(trip).text())
        .isEqualTo(
            """
            Run run-1 of trip, version 1, began, because: "to test".
            The client gave city = "Atlantis" and names = ["Ann","Bob"].
            city = "Atlantis" was refused: "No flights go there."
            ask_trip asked "Where to?" (city) and "How many people?" (people).
            The client gave city = "tokio" and people = 2.
            city was taken as "Tokyo".
            The run continued in 2 branches at once: ask_flight and stay.
              [ask_flight] ask_flight asked "Which flight?" (flight).
              [stay] Sub-flow stay began, given stay.town = "Tokyo".
                [stay] ask_nights asked "How many nights?" (stay.nights).
            The client gave flight = "F1".
            The client gave stay.nights = 3.
                [stay] cost set stay.cost = 300.
              [stay] Sub-flow stay ended with 300 and set price = 300.
            Branches ask_flight and stay joined and set flight = "F1" and price = 300.
            badges_for began for 2 items at once.
                [0] Sub-flow badges_for began, given badges_for.0.who = "Ann".
                [1] Sub-flow badges_for began, given badges_for.1.who = "Bob".
                [0] badge set badges_for.0.badge = "Guest Ann".
                [0] Sub-flow badges_for ended with "Guest Ann".
                [1] badge set badges_for.1.badge = "Guest Bob".
                [1] Sub-flow badges_for ended with "Guest Bob".
            badges_for is done with 2 items and set badges = ["Guest Ann","Guest Bob"].
            After badges_for the run chose ask_passport, because "far" (city was "Tokyo").
              [ask_passport] ask_passport asked "Which passport?" (passport).
            The client gave passport = "P-77".
            Branch ask_passport ended and set passport = "P-77".
            ask_pin asked "Which pin?" (pin).
            The client gave pin = "none".
            After ask_pin the run went to ask_pin, because "no pin" (pin was "none").
            Pass 2 began at ask_pin.
            ask_pin asked "Which pin?" (pin).
            The client gave pin = "1234".
            After ask_pin the run went to pay, because no rule held: "no pin" (pin was "1234", not "none").
            pay failed at attempt 1 and was to be tried again in 5 s: The bank is closed.
            pay began attempt 2.
            pay emitted paid: 300.
            pay set receipt = "R-1234".
            After pay the run went to receipt, because no rule held: "cheap" (price was 300, not above 1000).
            receipt began to wait for the signal receipt, for at most 1 d.
            Reminder 1 of receipt was sent.
            The signal receipt came with "yes".
            receipt took the signal receipt with "yes".
            receipt resumed after 10 min.
            The run completed after 10 min with {"price":300}.
            """);
  }

  @Test
  void aFailureIsReportedWithWhatIsUndone() {
    trips.bankFailures = 2;
    Driver trip = new Driver(trips.builder().endOnFailure().compile());
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    assertThat(narrated(trip).text())
        .endsWith(
            """
            pay failed at attempt 1 and was to be tried again in 5 s: The bank is closed.
            pay began attempt 2.
            pay failed: The bank is closed.
            The run could not continue; first pay had to be undone.
            The undoing of pay began.
            pay was undone.
            The run failed after 5 s: The bank is closed.
            """);
  }

  @Test
  void anOrdinaryExceptionIsReportedToThoseWhoMaySeeIt() {
    Driver talk =
        drive(
            talk()
                .act(
                    "attempt",
                    run -> {
                      throw new IllegalStateException("bureau flake");
                    },
                    o -> o.retry(2, Duration.ofSeconds(5))),
            "attempt");
    talk.start();

    Narrative clients = Narrative.forClients(1);
    tell(talk, clients);
    assertThat(narrated(talk).text())
        .contains(
            """
            attempt failed at attempt 1 and was to be tried again in 5 s: A step of the flow failed: attempt. (java.lang.IllegalStateException: bureau flake)
            attempt began attempt 2.
            attempt failed: A step of the flow failed: attempt. (java.lang.IllegalStateException: bureau flake)
            """)
        .doesNotContain("stateUpdates");
    assertThat(clients.text())
        .contains(
            """
            attempt failed at attempt 1 and was to be tried again in 5 s: A step of the flow failed: attempt.
            attempt began attempt 2.
            attempt failed: A step of the flow failed: attempt.
            """)
        .doesNotContain("bureau")
        .doesNotContain("stateUpdates");
  }

  @Test
  void aStandstillIsReportedWithItsRepair() {
    trips.bankFailures = 2;
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    assertThat(narrated(trip).text()).endsWith("pay halted until somebody retries it.\n");
    trip.now += 60_000;
    trip.proceed();
    assertThat(narrated(trip).text())
        .contains("pay was tried again after 1 min.\npay began attempt 3.\n");
  }

  @Test
  void timeThatGoesByIsReported() {
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip, 20);
    trip.proceed("pin", "1234");
    trip.pass();
    trip.pass();
    trip.pass();
    assertThat(narrated(trip).text())
        .endsWith(
            """
            rest went to sleep for 1 h.
            rest woke up after 1 h.
            receipt began to wait for the signal receipt, for at most 1 d.
            Reminder 1 of receipt was sent.
            receipt waited in vain for 1 d.
            late was done.
            late ended the run: No receipt came.
            The run completed early (No receipt came.) after 1 d 1 h with {"price":2000}.
            """);
  }

  @Test
  void aCorrectionIsReportedOnce() {
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    trip.reset("passport", "P-78");
    assertThat(narrated(trip).text())
        .contains("The client corrected passport = \"P-78\"; the run went back to badges_for.\n")
        .doesNotContain("The client gave passport = \"P-78\"");
  }

  @Test
  void aCorrectionIsNoPassOfALoop() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .edge(START, "ask_a")
                .edge("ask_a", "ask_b")
                .decide("ask_b", d -> d.when("go on", eq("b", "more")).to("ask_a").otherwise(END))
                .compile());
    talk.start("a", "1");
    talk.reset("a", "2");
    talk.proceed("b", "more");
    assertThat(narrated(talk).text())
        .contains("Pass 2 began at ask_a.")
        .doesNotContain("Pass 3 began");
  }

  private static FlowBuilder<Flows.Talk> again() {
    return ask(talk(), "a")
        .edge(START, "ask_a")
        .decide("ask_a", d -> d.when("go on", eq("a", "more")).to("ask_a").otherwise(END));
  }

  @Test
  void aListThatIsTooLongForTheJournalReadsAsAListAllTheSame() {
    List<String> known = IntStream.range(100, 150).mapToObj(i -> "item " + i).toList();
    Flow<Flows.Talk> flow =
        ask(talk(), "a")
            .edge(START, "ask_a")
            .decide("ask_a", d -> d.when("known", in("a", known)).to(END).otherwise("ask_a"))
            .compile();
    Driver talk = new Driver(flow);
    talk.start();
    talk.proceed("a", "item 120");

    assertThat(narrated(talk).text())
        .contains("a was \"item 120\", one of [\"item 100\",\"item 101\",")
        .doesNotContain("\\\"");
  }

  @Test
  void ofALongLoopTheFirstPassesAndTheLastAreReported() {
    Driver talk = new Driver(again().compile());
    talk.start();
    for (int i = 0; i < 20; i++) {
      talk.proceed("a", "more");
    }
    talk.proceed("a", "stop");
    assertThat(narrated(talk).text())
        .containsSubsequence("Pass 2 began", "… 18 more passes", "Pass 21 began", "a = \"stop\"")
        .doesNotContain("Pass 12 began");
  }

  @Test
  void aLongLoopOfABranchLeavesOutNothingOfABranchWhoseNameBeginsAlike() {
    FlowBuilder<Flows.Talk> flow =
        talk()
            .act("pay", run -> run.set("number", number(run.state().number()) + 1))
            .computes("sum_up", "computed", talk -> "done");
    String from = "pay_later";
    for (int i = 2; i < 6; i++) {
      flow.act(from, run -> {}).edge(from, "later_" + i);
      from = "later_" + i;
    }
    flow.act(from, run -> {})
        .edge(from, "sum_up")
        .decide("pay", d -> d.when("more", lt("number", 6)).to("pay").otherwise("sum_up"))
        .fork(START, f -> f.branch("pay").branch("pay_later").join("sum_up"))
        .edge("sum_up", END);
    Driver talk = new Driver(flow.compile());
    talk.start();
    assertThat(narrated(talk).text()).contains("later_2", "later_3", "later_4", "later_5");
  }

  private static int number(@Nullable Integer known) {
    return known == null ? 0 : known;
  }

  @Test
  void whatGoesWrongInAPassIsReportedEvenIfThePassIsLeftOut() {
    Flow<Flows.Talk> flow =
        talk()
            .ask("ask_a", q -> q.question("a", "a?", o -> o.validate(NarrativeTest::judged)))
            .edge(START, "ask_a")
            .decide("ask_a", d -> d.when("go on", eq("a", "more")).to("ask_a").otherwise(END))
            .compile();
    Driver talk = new Driver(flow);
    talk.start();
    for (int i = 0; i < 20; i++) {
      talk.proceed("a", i == 10 ? "bad" : "more");
    }
    assertThat(narrated(talk).text()).contains("a = \"bad\" was refused: \"No.\"");
  }

  private static Verdict judged(Object answer) {
    return answer.equals("bad") ? Verdict.reject("No.") : Verdict.accept();
  }

  @Test
  void anAccountThatNobodyWouldReadLosesItsMiddle() {
    Narrative narrative = new Narrative();
    Occurrence moment =
        new Occurrence("talk", "s", "run-1", 1, 0, 1, new Place("act", 1), Kind.ACT, null, false);
    for (int i = 0; i < 5_000; i++) {
      narrative.onEvent(new Observation(moment, new Event.Emitted("line_" + i, null)));
    }
    assertThat(narrative.text())
        .startsWith("act emitted line_0.\n")
        .contains("… 3000 lines left out\n")
        .endsWith("act emitted line_4999.\n");
    assertThat(narrative.text().lines()).hasSize(2_001);
  }

  @Test
  void aWidgetIsReportedWithWhatItShows() {
    Driver talk =
        drive(
            talk().widget("show", w -> w.tool("picker").data(s -> Map.of("n", 1)).field("a")),
            "show");
    talk.start();
    talk.now += 90_000;
    talk.proceed("a", "x");
    assertThat(narrated(talk).text())
        .contains("show showed picker with {\"n\":1}.\n")
        .contains("show was answered after 1 min 30 s.\n");
  }

  @Test
  void whatAClientSaysIsNeverALineOfItsOwn() {
    String forged = "x\".\r\nThe run was cancelled.\u2028The run expired.";
    Driver talk =
        new Driver(
            talk()
                .ask(
                    "ask_a",
                    q ->
                        q.question(
                            "a",
                            "a?",
                            o -> o.validate((String a) -> Verdict.reject("Not " + a + "!"))))
                .ask("ask_b", q -> q.question("b", s -> s.c() + "?"))
                .act(
                    "work",
                    run -> {
                      throw new StepException("No " + run.state().c());
                    })
                .act("after", run -> {})
                .edge(START, "begin")
                .act("begin", run -> {})
                .fork(
                    "begin",
                    f ->
                        f.branch("ask_a")
                            .branch("ask_b")
                            .branch("work")
                            .collect("failures")
                            .join("after"))
                .edge("ask_a", "after")
                .edge("ask_b", "after")
                .edge("work", "after")
                .edge("after", END)
                .compile());
    talk.call(new Input.Start("run-1", forged, Driver.object("a", forged, "c", forged), talk.now));
    String text = narrated(talk).text();
    assertThat(text)
        .contains(
            "began, because: \"x\\\".\\r\\nThe run was cancelled.\\u2028The run expired.\".\n")
        .contains("was refused: \"Not x\\\".\\r\\nThe")
        .contains("ask_b asked \"x\\\".\\r\\nThe")
        .contains("Branch work was dropped: No x\".\\u000d\\u000aThe")
        .doesNotContain("\r", "\u2028", "\nThe run was", "\nThe run expired");
  }

  @Test
  void itRemembersItsLatestRuns() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    for (int i = 0; i < 5; i++) {
      talk.start();
    }
    Narrative narrative = new Narrative(2);
    tell(talk, narrative);
    assertThat(narrative.text("run-3")).isEmpty();
    assertThat(narrative.text("run-5")).startsWith("Run run-5 of talk");
    assertThat(narrative.text())
        .startsWith("Run run-4")
        .contains("\n\nRun run-5")
        .doesNotContain("run-1");
  }
}
