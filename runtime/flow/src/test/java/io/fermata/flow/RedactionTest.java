package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.Trace;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a recorder behind a redaction never hears. */
class RedactionTest {
  private static final String SECRET = "4111-2222-3333";

  private static Calls observed(Driver run, String... fields) {
    Calls calls = new Calls();
    tell(run, Redaction.of(fields).over(calls.recorder));
    return calls;
  }

  private static void tell(Driver run, Recorder... recorders) {
    RunObserver recording = RunObserver.of(run.program.flow(), "s", recorders);
    run.entries.forEach(e -> recording.record(e.seq(), e.at(), e.events()));
  }

  private static void silent(Calls calls, String secret) {
    assertThat(calls.calls).isNotEmpty();
    calls.calls.forEach(call -> assertThat(call.event().toString()).doesNotContain(secret));
  }

  /** A run that does with a secret all that may be done with one. */
  private static Driver loose() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .act(
                    "copy",
                    run -> {
                      run.set("computed", run.state().a());
                      run.append("log", "card " + run.state().a() + " of Ann");
                      run.emit("charged", Map.of("card", run.state().a()));
                    })
                .widget("show", w -> w.data(s -> Map.of("card", s.a())).field("b"))
                .act(
                    "fail",
                    run -> {
                      throw new StepException("No money on " + run.state().a() + ".");
                    })
                .edge(START, "ask_a")
                .edge("ask_a", "copy")
                .decide(
                    "copy",
                    d ->
                        d.when("copied", eq("computed", SECRET))
                            .to("show")
                            .when(
                                "read",
                                r -> Objects.requireNonNull(r.get("a", String.class)).isEmpty())
                            .to("show")
                            .otherwise("show"))
                .edge("show", "fail")
                .edge("fail", END)
                .compile());
    talk.start();
    talk.proceed("a", SECRET);
    talk.proceed("b", "gold");
    return talk;
  }

  @Test
  void aValueIsFollowedWhereverItGoes() {
    Driver talk = loose();
    Calls open = new Calls();
    tell(talk, open.recorder);
    for (String hook :
        List.of("onWrite", "onRead", "onAnswer", "onCommit", "onEmit", "onDecision", "onPause")) {
      assertThat(open.calls)
          .as("what %s tells without redaction", hook)
          .anyMatch(c -> c.hook().equals(hook) && c.event().toString().contains(SECRET));
    }
    assertThat(open.observed(Observation.Failure.class).get(0).message()).contains(SECRET);
    Calls redacted = observed(talk, "a");
    silent(redacted, SECRET);
    assertThat(redacted.lines()).isEqualTo(open.lines());
  }

  @Test
  void whatIsAroundItIsStillReported() {
    Calls calls = observed(loose(), "a");
    List<Write> writes = calls.observed(Event.Committed.class).get(0).writes();
    assertThat(writes.get(0).value()).isEqualTo(Json.tree(Redaction.MARK));
    assertThat(writes.get(1).value()).isEqualTo(Json.tree("card [redacted] of Ann"));
    assertThat(calls.observed(Observation.Failure.class).get(0).message())
        .isEqualTo("No money on [redacted].");
    assertThat(calls.observed(Event.Emitted.class).get(0).payload())
        .isEqualTo(Json.tree(Map.of("card", Redaction.MARK)));
  }

  @Test
  void theAccountOfARunAndItsTraceKeepTheSecretToo() {
    Driver talk = loose();
    Narrative narrative = new Narrative();
    Trace trace = new Trace(talk.program.flow());
    Redaction redaction = Redaction.of("a");
    tell(talk, redaction.over(narrative), redaction.over(trace));
    assertThat(narrative.text()).contains(Redaction.MARK).doesNotContain(SECRET);
    assertThat(trace.why("computed").toString()).contains(Redaction.MARK).doesNotContain(SECRET);
  }

  @Test
  void aNamedFieldIsRedactedWhateverItHolds() {
    Driver talk = drive(ask(talk(), "flag", "number"), "ask_flag");
    talk.start("flag", true, "number", 7);
    Calls calls = observed(talk, "flag", "number");
    assertThat(calls.observed(Observation.Written.class))
        .extracting(written -> written.write().value())
        .containsOnly(Json.tree(Redaction.MARK));
    assertThat(calls.observed(Observation.RunStart.class).get(0).input().values())
        .containsOnly(Json.tree(Redaction.MARK));
  }

  @Test
  void theResultOfARunIsRedacted() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start("a", SECRET);
    JsonNode result = observed(talk, "a").observed(Observation.RunEnd.class).get(0).result();
    assertThat(Objects.requireNonNull(result).get("a")).isEqualTo(Json.tree(Redaction.MARK));
  }

  @Test
  void aNumberIsFollowedAsANumberAndAsAText() {
    Driver talk =
        drive(
            ask(talk(), "number")
                .act(
                    "copy",
                    run -> {
                      run.emit("number", run.state().number());
                      run.emit("text", "no. " + run.state().number());
                    }),
            "ask_number",
            "copy");
    talk.start("number", 987_654);
    Calls calls = observed(talk, "number");
    silent(calls, "987654");
    assertThat(calls.observed(Event.Emitted.class))
        .extracting(Event.Emitted::payload)
        .containsExactly(Json.tree(Redaction.MARK), Json.tree("no. [redacted]"));
  }

  @Test
  void aTextIsFollowedInAnotherCaseAndAsJsonInAText() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "copy",
                    run -> {
                      run.emit("upper", run.state().a().toUpperCase(Locale.ROOT));
                      run.emit("json", Json.text(Json.tree(Map.of("a", run.state().a()))));
                    }),
            "ask_a",
            "copy");
    talk.start("a", "open \"sesame\"");
    Calls calls = observed(talk, "a");
    silent(calls, "sesame");
    silent(calls, "SESAME");
  }

  @Test
  void aShortTextIsFollowedAsAWholeOnly() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "copy",
                    run -> {
                      run.emit("whole", run.state().a());
                      run.emit("part", "an abc");
                    }),
            "ask_a",
            "copy");
    talk.start("a", "ab");
    assertThat(observed(talk, "a").observed(Event.Emitted.class))
        .extracting(Event.Emitted::payload)
        .containsExactly(Json.tree(Redaction.MARK), Json.tree("an abc"));
  }

  @Test
  void aFieldsPathMayHavePlaceholders() {
    Trips trips = new Trips();
    Driver trip = new Driver(trips.builder().compile());
    Trips.untilPin(trip);
    Calls calls = observed(trip, "badges_for.*.badge", "**.town");
    silent(calls, "Guest Ann");
    silent(calls, "Tokyo");
    assertThat(calls.observed(Event.Emitted.class)).isEmpty();
  }

  @Test
  void theElementsOfAListMayBeNamed() {
    Driver talk = drive(talk().act("note", run -> run.append("log", SECRET)), "note");
    talk.start();
    silent(observed(talk, "log.*"), SECRET);
  }

  @Test
  void whatWasAlreadyKnownInTheMiddleOfARunIsFollowed() {
    Driver talk = loose();
    Flow<?> flow = talk.program.flow();
    RunObserver first = RunObserver.of(flow, "s");
    List<Driver.Entry> entries = talk.entries;
    entries.subList(0, 2).forEach(e -> first.record(e.seq(), e.at(), e.events()));
    Calls calls = new Calls();
    Recorder redacted = Redaction.of("a").over(calls.recorder);
    RunObserver rest =
        RunObserver.from(first.state(), flow, "s", List.of(AttachedRecorder.everywhere(redacted)));
    entries.subList(2, entries.size()).forEach(e -> rest.record(e.seq(), e.at(), e.events()));
    silent(calls, SECRET);
  }

  @Test
  void whatCameInAGapIsFollowed() {
    Driver talk =
        drive(ask(talk(), "a", "b").act("tell", run -> run.emit("told", SECRET)), "ask_a", "tell");
    talk.start();
    talk.proceed("b", "y");
    talk.proceed("a", SECRET);
    Calls calls = new Calls();
    Recorder redacted = Redaction.of("a").over(calls.recorder);
    RunObserver recording = RunObserver.of(talk.program.flow(), "s");
    for (Driver.Entry entry : talk.entries) {
      ObservedEntry coming = recording.record(entry.seq(), entry.at(), entry.events());
      if (entry.seq() == 3) {
        redacted.onDropped(1);
      } else {
        redacted.onEntry(coming);
        coming.observations().forEach(redacted::onEvent);
      }
    }
    assertThat(calls.observed(Event.Emitted.class)).hasSize(1);
    silent(calls, SECRET);
  }

  @Test
  void whatIsKeptOfTooManyValuesIsTheYoungest() {
    Secrets secrets = new Secrets();
    for (int i = 0; i < 15; i++) {
      secrets.add(Json.tree("held"));
      secrets.add(Json.tree(i + "x".repeat(100_000)));
    }
    assertThat(secrets.in("0" + "x".repeat(100_000))).isTrue();
    secrets.forgetEldest();
    assertThat(secrets.size()).isLessThan(1 << 20);
    assertThat(secrets.in("0" + "x".repeat(90_000))).isFalse();
    assertThat(secrets.in("14" + "x".repeat(100_000))).isTrue();
    assertThat(secrets.in("withheld")).isTrue();
  }

  @Test
  void whatWasForgottenForOtherRunsIsFollowedAgainWhenTheRunContinues() {
    Calls calls = new Calls();
    Recorder redacted = Redaction.of("a").over(calls.recorder);
    Driver talk =
        drive(ask(talk(), "a").act("pay", run -> run.emit("paid", SECRET)), "ask_a", "pay");
    talk.start();
    talk.proceed("a", SECRET);
    RunObserver recording = RunObserver.of(talk.program.flow(), "s", redacted);
    int last = talk.entries.size() - 1;
    talk.entries.subList(0, last).forEach(e -> recording.record(e.seq(), e.at(), e.events()));
    for (int i = 0; i < 24; i++) {
      Driver other = drive(ask(talk(), "a"), "ask_a");
      other.start();
      other.proceed("a", i + "z".repeat(100_000));
      RunObserver others = RunObserver.of(other.program.flow(), "s" + i, redacted);
      other.entries.forEach(e -> others.record(e.seq(), e.at(), e.events()));
    }
    Driver.Entry end = talk.entries.get(last);
    recording.record(end.seq(), end.at(), end.events());
    assertThat(calls.observed(Event.Emitted.class)).hasSize(1);
    silent(calls, SECRET);
  }

  @Test
  void oneWhoListensToASubflowAloneReceivesNoSecretsOfTheFlowAround() {
    Calls calls = new Calls();
    Trips trips = new Trips();
    Driver trip = new Driver(trips.builder(Redaction.of("city").over(calls.recorder)).compile());
    Trips.untilPin(trip);
    tell(trip);
    silent(calls, "Tokyo");
  }

  @Test
  void whatAnotherRecorderThrowsIsRedacted() {
    Recorder leaking =
        new Recorder() {
          @Override
          public void onEmit(Occurrence at, Event.Emitted event) {
            throw new IllegalStateException("Cannot print " + event.payload());
          }
        };
    Calls calls = new Calls();
    tell(loose(), leaking, Redaction.of("a").over(calls.recorder));
    silent(calls, SECRET);
    assertThat(calls.observed(Observation.Failure.class).get(0).message()).contains(Redaction.MARK);
  }

  @Test
  void aSecretThatIsCalledAsANodeLeavesTheNamesAsTheyAre() {
    Driver talk =
        drive(ask(talk(), "a").act("ask_", run -> run.set("computed", "ask_a")), "ask_a", "ask_");
    talk.start("a", "ask_a");
    Calls open = new Calls();
    tell(talk, open.recorder);
    Calls redacted = observed(talk, "a");
    assertThat(redacted.lines()).isEqualTo(open.lines());
    assertThat(redacted.observed(Event.Moved.class)).isEqualTo(open.observed(Event.Moved.class));
    assertThat(redacted.observed(Event.Committed.class).get(0).writes())
        .extracting(Write::value)
        .containsExactly(Json.tree(Redaction.MARK));
  }

  @Test
  void aRedactionOfNothingIsAMistake() {
    assertThatThrownBy(() -> Redaction.of())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("Name the fields");
    assertThatThrownBy(() -> Redaction.of(" ")).isInstanceOf(IllegalArgumentException.class);
  }
}
