package io.fermata.flow.record;

import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Calls;
import io.fermata.flow.Calls.Observed;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.Trips;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Paths;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Observation.Cause;
import io.fermata.flow.observe.Observation.Kind;
import io.fermata.flow.observe.Observation.Progression;
import io.fermata.flow.observe.Observation.Source;
import io.fermata.flow.observe.Observation.Wait;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What recorders observe of a run, whenever they are notified. */
@Tag("slow")
class RunObserverTest {
  private final Trips trips = new Trips();

  private static Calls observed(Driver run, Recorder... more) {
    Calls calls = new Calls();
    Recorder[] all = new Recorder[more.length + 1];
    System.arraycopy(more, 0, all, 0, more.length);
    all[more.length] = calls.recorder;
    feed(RunObserver.of(run.program.flow(), "s", all), run.entries);
    return calls;
  }

  private static List<Observation> feed(RunObserver recording, List<Driver.Entry> entries) {
    List<Observation> all = new ArrayList<>();
    entries.forEach(e -> all.addAll(recording.record(e.seq(), e.at(), e.events()).observations()));
    return all;
  }

  private Driver trip(Recorder... inStay) {
    return new Driver(trips.builder(inStay).compile());
  }

  private Driver whole() {
    trips.bankFailures = 1;
    Driver trip = trip();
    Trips.whole(trip);
    return trip;
  }

  private Driver atReceipt() {
    Driver trip = trip();
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    return trip;
  }

  private static <F extends Fact> F only(Calls calls, Class<F> kind) {
    return onlyObserved(calls, kind).fact();
  }

  private static <F extends Fact> Observed<F> onlyObserved(Calls calls, Class<F> kind) {
    assertThat(calls.moments(kind)).hasSize(1);
    return calls.moments(kind).get(0);
  }

  private static List<String> at(Calls calls, String node) {
    return calls.calls.stream()
        .filter(call -> call.event().moment().node().equals(node))
        .map(Calls.Call::hook)
        .toList();
  }

  // --- all of it ------------------------------------------------------------------------------

  /** Runs that do all that a run may do. */
  private List<Driver> everything() {
    List<Driver> all = new ArrayList<>(List.of(whole(), cancelled(), overdue(), failed()));
    Driver slept = trip();
    Trips.untilPin(slept, 20);
    slept.proceed("pin", "1234");
    slept.pass();
    all.add(slept);
    Driver corrected = trip();
    Trips.untilPin(corrected);
    corrected.reset("passport", "P-78");
    all.add(corrected);
    all.add(collected());
    all.add(migrated());
    all.add(leftOpen());
    all.add(putOff());
    all.add(forked());
    return all;
  }

  /** After its check has failed. */
  private static Driver putOff() {
    Driver run =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question(
                            "a",
                            "a?",
                            o ->
                                o.validate(
                                    (String a) -> {
                                      throw new IllegalStateException("The service is down.");
                                    }))),
            "ask");
    run.start();
    run.proceed("a", "x");
    run.call(new Input.Postpone(Set.of("a"), run.now++));
    return run;
  }

  /** Its source has waited for an hour. */
  private static Driver forked() {
    Driver source =
        new Driver(
            talk()
                .ask("ask", q -> q.question("a", "a?").question("b", "b?"))
                .edge(START, "ask")
                .edge("ask", END)
                .compile());
    source.start();
    source.now += Duration.ofHours(1).toMillis();
    source.proceed("a", "x");
    Driver fork = source.fork("run-2", source.now + Duration.ofDays(30).toMillis());
    fork.now += 60_000;
    fork.proceed("b", "y");
    return fork;
  }

  /** In the second pass of a loop it leaves open what it answered in the first. */
  private static Driver leftOpen() {
    Driver talk =
        new Driver(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "a?", QuestionOptions::optional)
                            .question("b", "b?", o -> o.defaultsTo("x")))
                .edge(START, "ask")
                .decide("ask", d -> d.when(visits("ask").lt(2)).to("ask").otherwise(END))
                .compile());
    talk.start();
    talk.proceed("a", "1", "b", "2");
    talk.proceed();
    return talk;
  }

  private static Driver migrated() {
    Driver before = new Driver(asking(1).compile());
    before.start();
    Driver after = new Driver(asking(2).migrate(1, m -> {}).compile());
    after.takeOver(before);
    return after;
  }

  record Wish(String wish) {}

  private static FlowBuilder<Wish> asking(int version) {
    return Flow.of("wish", Wish.class)
        .description("Asks what is wished for.")
        .version(version)
        .ask("ask_wish", q -> q.question("wish", "What?"))
        .edge(START, "ask_wish")
        .edge("ask_wish", END);
  }

  private Driver cancelled() {
    Driver trip = atReceipt();
    trip.cancel();
    return trip;
  }

  private Driver overdue() {
    Driver trip = atReceipt();
    trip.pass();
    trip.pass();
    return trip;
  }

  private Driver failed() {
    trips.broken = true;
    Driver trip = new Driver(trips.builder().endOnFailure().compile());
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    trips.broken = false;
    return trip;
  }

  record Luck(@Computed String good, @Computed List<Object> bad) {}

  private static Driver collected() {
    Driver luck =
        new Driver(
            Flow.of("luck", Luck.class)
                .description("Tries its luck.")
                .act("good", run -> run.tag("lucky").set("good", "x"))
                .act("bad", RunObserverTest::fail)
                .fork(START, f -> f.branch("good").branch("bad").join(END).collect("bad"))
                .edge("good", END)
                .edge("bad", END)
                .compile());
    luck.start();
    return luck;
  }

  private static void fail(Run<Luck> run) {
    throw new StepException("No luck.");
  }

  @Test
  void everyHookIsCalled() {
    Set<String> called = new TreeSet<>();
    everything().forEach(run -> observed(run).calls.forEach(call -> called.add(call.hook())));
    assertThat(called).isEqualTo(Calls.hooks());
  }

  @Test
  void everyEventSaysWhereInTheJournalItStands() {
    Driver trip = whole();
    Calls calls = observed(trip);
    long seq = 0;
    int index = 0;
    long at = 0;
    for (Calls.Call call : calls.calls) {
      Occurrence moment = call.event().moment();
      assertThat(List.of(moment.flow(), moment.session(), moment.run()))
          .containsExactly("trip", "s", "run-1");
      index = moment.seq() == seq ? index + 1 : 0;
      assertThat(moment.seq()).isGreaterThanOrEqualTo(seq);
      assertThat(moment.index()).isEqualTo(index);
      assertThat(moment.at()).isGreaterThanOrEqualTo(at);
      seq = moment.seq();
      at = moment.at();
    }
    assertThat(seq).isEqualTo(trip.entries.size());
    assertThat(at).isEqualTo(trip.state.changedAt());
  }

  @Test
  void theStateBehindWhatWasReportedIsThatOfTheRun() {
    Driver trip = whole();
    RunObserver recording = RunObserver.of(trip.program.flow(), "s");
    feed(recording, trip.entries);
    assertThat(recording.state()).isEqualTo(trip.state);
  }

  @Test
  void aStepIsReportedFromItsBeginningToItsEnd() {
    Driver talk =
        drive(ask(talk(), "a").act("up", r -> r.set("computed", r.state().a())), "ask_a", "up");
    talk.start();
    talk.proceed("a", "x");
    assertThat(observed(talk).lines())
        .containsExactly(
            "onRunStart ",
            "onNext __start__#1",
            "onStageStart ask_a#1",
            "onPause ask_a#1",
            "onWrite ",
            "onAnswer ask_a#1",
            "onResume ask_a#1",
            "onStageEnd ask_a#1",
            "onStageExecuted ask_a#1",
            "onNext ask_a#1",
            "onStageStart up#1",
            "onAttempt up#1",
            "onRead up#1",
            "onWrite up#1",
            "onCommit up#1",
            "onStageEnd up#1",
            "onStageExecuted up#1",
            "onNext up#1",
            "onRunEnd ");
  }

  // --- data -----------------------------------------------------------------------------------

  @Test
  void anActionIsReportedWithWhatItReadAndWroteAndHowLongItTook() {
    Calls calls = observed(whole());
    Observed<Event.Committed> pay =
        calls.moments(Event.Committed.class).stream()
            .filter(c -> c.moment().node().equals("pay"))
            .findFirst()
            .orElseThrow();
    assertThat(pay.fact().reads()).containsExactly("price", "pin");
    assertThat(pay.fact().writes())
        .containsExactly(new Write(Write.Verb.SET, "receipt", Json.tree("R-1234")));
    assertThat(pay.moment().kind()).isEqualTo(Kind.ACT);
    assertThat(pay.moment().millis()).isNotNull();
    assertThat(calls.moments(Observation.Read.class))
        .filteredOn(read -> read.moment().node().equals("pay"))
        .extracting(read -> read.fact().path(), read -> Objects.toString(read.fact().value()))
        .containsExactly(tuple("price", "300"), tuple("pin", "\"1234\""));
    Observed<Event.Emitted> emit = onlyObserved(calls, Event.Emitted.class);
    assertThat(emit.fact().name()).isEqualTo("paid");
    assertThat(emit.fact().payload()).isEqualTo(Json.tree(300));
    assertThat(emit.moment().step()).isEqualTo("pay#1");
  }

  @Test
  void anAnswerIsReportedWithItsVerdict() {
    Calls calls = observed(whole());
    List<Observation.Answer> city =
        calls.observed(Observation.Answer.class).stream()
            .filter(a -> a.field().equals("city"))
            .toList();
    assertThat(city.get(0).given()).isEqualTo(Json.tree("Atlantis"));
    assertThat(city.get(0).refusal()).isEqualTo("No flights go there.");
    assertThat(city.get(1).given()).isEqualTo(Json.tree("tokio"));
    assertThat(city.get(1).refusal()).isNull();
    assertThat(city.get(1).normalised()).isEqualTo(Json.tree("Tokyo"));
  }

  @Test
  void anAnswerThatOneBranchAloneGetsIsAWriteOfThatBranch() {
    assertThat(observed(whole()).moments(Observation.Written.class))
        .filteredOn(write -> write.fact().source() == Source.CLIENT)
        .filteredOn(write -> Set.of("pin", "flight", "stay.nights").contains(path(write)))
        .extracting(write -> path(write) + " in '" + write.moment().branch() + "'")
        .containsExactly(
            "flight in 'ask_trip#1:ask_flight'",
            "stay.nights in 'ask_trip#1:stay'",
            "pin in ''",
            "pin in ''");
  }

  private static String path(Observed<Observation.Written> written) {
    return written.fact().write().path();
  }

  /** The data that the writes make, as whoever keeps a copy of it would keep it. */
  private static ObjectNode copy(Calls calls) {
    ObjectNode data = Json.object();
    for (Observed<Observation.Written> written : calls.moments(Observation.Written.class)) {
      if (written.moment().branch().isEmpty()) {
        Write write = written.fact().write();
        JsonNode value = write.value();
        data =
            switch (write.verb()) {
              case DELETE -> Paths.delete(data, write.path());
              case APPEND -> Paths.append(data, write.path(), Objects.requireNonNull(value), null);
              case SET, MERGE -> Paths.set(data, write.path(), Objects.requireNonNull(value));
            };
      }
    }
    return data;
  }

  @Test
  void aCopyKeptByTheWritesIsTheStateOfTheRun() {
    for (Driver run : everything()) {
      if (!run.state.branches().isEmpty()) {
        JsonNode data = run.state.memory("").data();
        assertThat(filled(copy(observed(run)))).isEqualTo(filled(data));
      }
    }
  }

  @Test
  void anAnswerThatIsPutOffAfterItsCheckFailedIsDeleted() {
    Driver run = putOff();
    Observed<Observation.Written> last =
        observed(run).moments(Observation.Written.class).stream()
            .reduce((one, next) -> next)
            .orElseThrow();
    assertThat(last.fact())
        .isEqualTo(new Observation.Written(Source.PASSED, new Write(Write.Verb.DELETE, "a", null)));
    assertThat(Trace.of(run.program.flow(), run.journal).why("a").text())
        .isEqualTo("a has no value: nobody wrote it");
  }

  private static Map<String, JsonNode> filled(JsonNode data) {
    Map<String, JsonNode> filled = new TreeMap<>();
    data.properties().stream()
        .filter(e -> !e.getValue().isNull())
        .forEach(e -> filled.put(e.getKey(), e.getValue()));
    return filled;
  }

  // --- waiting --------------------------------------------------------------------------------

  @Test
  void aPauseIsReportedAsItWasPutAndItsResumeWithHowLongItTook() {
    Driver talk = drive(ask(talk(), "a", "b"), "ask_a");
    talk.start();
    talk.now += 60_000;
    talk.proceed("a", "x");
    talk.now += 60_000;
    talk.proceed("b", "y");
    Calls calls = observed(talk);
    Observed<Observation.Pause> pause = onlyObserved(calls, Observation.Pause.class);
    assertThat(pause.fact().what()).isEqualTo(Wait.ANSWER);
    assertThat(pause.fact().questions())
        .extracting(Event.Question::question)
        .containsExactly("a?", "b?");
    Observed<Observation.Resume> resume = onlyObserved(calls, Observation.Resume.class);
    assertThat(resume.fact().cause()).isEqualTo(Cause.ANSWERED);
    assertThat(resume.moment().millis()).isEqualTo(resume.moment().at() - pause.moment().at());
    assertThat(resume.moment().took()).isGreaterThanOrEqualTo(120_000);
  }

  @Test
  void aWidgetIsAPause() {
    Driver talk = drive(talk().widget("show", w -> w.tool("picker").field("a")), "show");
    talk.start();
    talk.proceed("a", "x");
    Calls calls = observed(talk);
    Observation.Pause pause = only(calls, Observation.Pause.class);
    assertThat(pause.what()).isEqualTo(Wait.WIDGET);
    assertThat(Objects.requireNonNull(pause.widget()).tool()).isEqualTo("picker");
    assertThat(only(calls, Observation.Resume.class).what()).isEqualTo(Wait.WIDGET);
  }

  @Test
  void aSignalIsReportedWhenItComesAndWhenItIsTaken() {
    Calls calls = observed(whole());
    List<Observed<Observation.Signal>> signals = calls.moments(Observation.Signal.class);
    assertThat(signals).extracting(signal -> signal.fact().taken()).containsExactly(false, true);
    assertThat(signals.get(1).moment().node()).isEqualTo("receipt");
    assertThat(signals.get(1).fact().field()).isEqualTo("paid");
    assertThat(signals.get(1).fact().payload()).isEqualTo(Json.tree("yes"));
    assertThat(at(calls, "receipt"))
        .containsExactly(
            "onStageStart",
            "onPause",
            "onReminder",
            "onReminder",
            "onSignal",
            "onWrite",
            "onResume",
            "onStageEnd",
            "onStageExecuted",
            "onNext");
  }

  @Test
  void aWaitPastItsDeadlineSaysSo() {
    Calls calls = observed(overdue());
    Observed<Observation.Resume> last = calls.moments(Observation.Resume.class).get(5);
    assertThat(last.moment().node()).isEqualTo("receipt");
    assertThat(last.fact().cause()).isEqualTo(Cause.DEADLINE);
    assertThat(only(calls, Event.Broken.class).reason()).isEqualTo("No receipt came.");
    assertThat(only(calls, Observation.RunEnd.class).reason()).isEqualTo("No receipt came.");
  }

  @Test
  void aSleepIsReportedWithTheMomentThatItEnds() {
    Driver trip = trip();
    Trips.untilPin(trip, 20);
    trip.proceed("pin", "1234");
    trip.pass();
    Calls calls = observed(trip);
    assertThat(calls.moments(Observation.Pause.class))
        .filteredOn(pause -> pause.fact().what() == Wait.TIME)
        .singleElement()
        .satisfies(
            sleep -> assertThat(sleep.fact().until()).isEqualTo(sleep.moment().at() + 3_600_000));
    assertThat(calls.moments(Observation.Resume.class))
        .filteredOn(resume -> resume.fact().cause() == Cause.WOKEN)
        .singleElement()
        .satisfies(woken -> assertThat(woken.moment().millis()).isEqualTo(3_600_000));
  }

  // --- failing --------------------------------------------------------------------------------

  @Test
  void aRetryIsReportedWithItsReasonAndItsDelay() {
    Calls calls = observed(whole());
    Observed<Event.AttemptFailed> retry = onlyObserved(calls, Event.AttemptFailed.class);
    assertThat(retry.fact().attempt()).isEqualTo(1);
    assertThat(retry.fact().message()).isEqualTo("The bank is closed.");
    assertThat(retry.fact().retryAt() - retry.moment().at()).isBetween(4_000L, 5_000L);
    assertThat(calls.moments(Event.Attempted.class))
        .filteredOn(attempt -> attempt.moment().node().equals("pay"))
        .extracting(attempt -> attempt.fact().attempt())
        .containsExactly(1, 2);
  }

  @Test
  void aStepThatFailsForGoodIsAnErrorAndWaitsForRepair() {
    trips.bankFailures = 2;
    Driver trip = trip();
    Trips.untilPin(trip);
    trip.proceed("pin", "1234");
    trip.proceed();
    Calls calls = observed(trip);
    Observation.Failure failure = only(calls, Observation.Failure.class);
    assertThat(failure.code()).isEqualTo(ErrorCode.STEP_FAILED);
    assertThat(failure.message()).isEqualTo("The bank is closed.");
    assertThat(at(calls, "pay"))
        .containsSubsequence("onError", "onPause", "onResume", "onAttempt", "onCommit");
    assertThat(calls.observed(Observation.Resume.class))
        .extracting(Observation.Resume::cause)
        .contains(Cause.RETRIED);
  }

  @Test
  void aRunThatFailsIsReportedWithWhatIsUndoneFirst() {
    Calls calls = observed(failed());
    assertThat(only(calls, Event.Ending.class).code()).isEqualTo(ErrorCode.STEP_FAILED);
    assertThat(only(calls, Event.Failed.class).code()).isEqualTo(ErrorCode.STEP_FAILED);
    assertThat(calls.observed(Observation.RunEnd.class)).isEmpty();
  }

  @Test
  void undoingIsReportedStepByStepAndIsNoStage() {
    Calls calls = observed(cancelled());
    assertThat(only(calls, Event.Ending.class).undo()).containsExactly(new Place("pay", 1));
    assertThat(calls.moments(Observation.Compensation.class))
        .extracting(c -> c.moment().step() + " " + c.fact().progression())
        .containsExactly("pay#1 " + Progression.BEGUN, "pay#1 " + Progression.DONE);
    assertThat(calls.moments(Observation.StageStart.class))
        .filteredOn(start -> start.moment().node().equals("pay"))
        .hasSize(1);
    assertThat(only(calls, Observation.RunEnd.class).status()).isEqualTo(RunState.Status.CANCELLED);
  }

  @Test
  void aRunThatIsLeftForAnotherEndsAbandoned() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    talk.start();
    Calls calls = observed(talk);
    Observed<Observation.RunEnd> end = onlyObserved(calls, Observation.RunEnd.class);
    assertThat(end.fact().status()).isEqualTo(RunState.Status.ABANDONED);
    assertThat(end.moment().run()).isEqualTo("run-1");
    assertThat(calls.moments(Observation.RunStart.class))
        .extracting(start -> start.moment().run())
        .containsExactly("run-1", "run-2");
    assertThat(calls.observed(Observation.StageEnd.class))
        .extracting(Observation.StageEnd::done)
        .containsExactly(false);
  }

  // --- the way --------------------------------------------------------------------------------

  @Test
  void aDecisionIsReportedWithItsRuleAndItsEvidence() {
    Calls calls = observed(whole());
    List<Event.Decided> decisions = calls.observed(Event.Decided.class);
    assertThat(calls.moments(Event.Decided.class))
        .extracting(d -> d.moment().step() + " > " + d.fact().chosen() + " by " + d.fact().rule())
        .containsExactly(
            "ask_pin#1 > ask_pin by no pin", "ask_pin#2 > pay by null", "pay#1 > receipt by null");
    assertThat(decisions.get(0).evidence()).containsExactly("pin eq \"none\": \"none\" (true)");
    assertThat(decisions.get(2).evidence()).containsExactly("price gt 1000: 300 (false)");
    Event.Decided selected = only(calls, Observation.Selected.class).decided();
    assertThat(selected.targets()).containsExactly("ask_passport");
    assertThat(selected.evidence()).containsExactly("city eq \"Tokyo\": \"Tokyo\" (true)");
  }

  @Test
  void aWayBackIsALoop() {
    Observed<Observation.Loop> loop = onlyObserved(observed(whole()), Observation.Loop.class);
    assertThat(loop.moment().step()).isEqualTo("ask_pin#1");
    assertThat(loop.fact().moved().to()).isEqualTo(new Place("ask_pin", 2));
    assertThat(loop.fact().pass()).isEqualTo(2);
  }

  @Test
  void aForkIsReportedWithItsBranchesAndItsJoinWithWhatTheyBrought() {
    Calls calls = observed(whole());
    Event.Forked fork = calls.observed(Event.Forked.class).get(0);
    assertThat(fork.heads()).extracting(Event.Head::label).containsExactly("ask_flight", "stay");
    Observed<Observation.Join> join = calls.moments(Observation.Join.class).get(0);
    assertThat(join.moment().step()).isEqualTo("ask_trip#1");
    assertThat(join.fact().list()).isFalse();
    assertThat(join.fact().joined().writes())
        .extracting(Write::path)
        .containsExactly("flight", "price");
    assertThat(calls.moments(Observation.Written.class))
        .filteredOn(write -> write.fact().source() == Source.JOIN)
        .extracting(RunObserverTest::path)
        .startsWith("flight", "price");
    assertThat(calls.observed(Observation.Join.class).get(1).list()).isTrue();
  }

  @Test
  void aNodeBeforeAForkEndsOnce() {
    assertThat(at(observed(whole()), "ask_trip"))
        .containsOnlyOnce("onStageStart", "onStageEnd", "onStageExecuted", "onFork", "onJoin");
  }

  @Test
  void aBranchThatIsAbandonedSaysWhy() {
    Observed<Event.BranchFailed> failed =
        onlyObserved(observed(collected()), Event.BranchFailed.class);
    assertThat(failed.moment().labels()).containsExactly("bad");
    assertThat(failed.fact().message()).isEqualTo("No luck.");
  }

  @Test
  void aResetIsReportedWithWhereItWentBackToAndEndsWhatIsBehind() {
    Driver trip = trip();
    Trips.untilPin(trip);
    trip.reset("passport", "P-78");
    Calls calls = observed(trip);
    Event.Reset reset = only(calls, Event.Reset.class);
    assertThat(reset.corrected()).isEqualTo(Map.of("passport", Json.tree("P-78")));
    assertThat(reset.to()).isNotEmpty();
    assertThat(calls.moments(Observation.StageEnd.class))
        .filteredOn(end -> end.moment().node().equals("ask_pin"))
        .extracting(end -> end.fact().done())
        .containsExactly(false);
  }

  // --- sub-flows ------------------------------------------------------------------------------

  @Test
  void aSubflowIsOneStageFromItsEntryToItsExit() {
    Calls calls = observed(whole());
    assertThat(at(calls, "stay"))
        .containsExactly(
            "onStageStart",
            "onSubflowEntry",
            "onWrite",
            "onNext",
            "onSubflowExit",
            "onWrite",
            "onWrite",
            "onStageEnd",
            "onStageExecuted",
            "onArrival");
    Observed<Observation.StageEnd> end =
        calls.moments(Observation.StageEnd.class).stream()
            .filter(e -> e.moment().node().equals("stay"))
            .findFirst()
            .orElseThrow();
    assertThat(end.moment().kind()).isEqualTo(Kind.SUBFLOW);
    assertThat(end.fact().done()).isTrue();
    assertThat(Objects.requireNonNull(end.moment().millis())).isPositive();
  }

  @Test
  void aSubflowIsReportedWithItsInputAndItsOutput() {
    Calls calls = observed(whole());
    Event.Opened entry = calls.observed(Event.Opened.class).get(0);
    assertThat(entry.subflow()).isEqualTo("stay");
    assertThat(entry.input()).isEqualTo(Map.of("stay.town", Json.tree("Tokyo")));
    Event.Closed exit = calls.observed(Event.Closed.class).get(0);
    assertThat(exit.subflow()).isEqualTo("stay");
    assertThat(exit.writes()).containsExactly(new Write(Write.Verb.SET, "price", Json.tree(300)));
    assertThat(exit.result()).isEqualTo(Json.tree(300));
  }

  private static Flow<Flows.Talk> mounting(FlowBuilder<Flows.Talk> inner) {
    return talk()
        .subflow("inner", inner.compile(), s -> s.output((out, in) -> Map.of("a", in.b())))
        .act("after", run -> {})
        .edge(START, "inner")
        .decide("inner", d -> d.when("known", eq("a", "y")).to("after").otherwise(END))
        .edge("after", END)
        .compile();
  }

  @Test
  void theDecisionBehindASubflowIsTakenAtItsNodeOnTheFieldsAround() {
    Driver talk = new Driver(mounting(Flows.chain(ask(talk(), "b"), "ask_b")));
    talk.start();
    talk.proceed("inner.b", "y");
    Observed<Event.Decided> decision = onlyObserved(observed(talk), Event.Decided.class);
    assertThat(decision.moment().step()).isEqualTo("inner#1");
    assertThat(decision.moment().field("a")).isEqualTo("a");
    assertThat(decision.fact().chosen()).isEqualTo("after");
  }

  @Test
  void aSubflowThatIsLeftBehindIsAbandonedWithWhatItWasAt() {
    Driver talk = new Driver(mounting(Flows.chain(ask(talk(), "b"), "ask_b")));
    talk.start();
    talk.cancel();
    assertThat(observed(talk).moments(Observation.StageEnd.class))
        .extracting(end -> end.moment().node() + " " + end.fact().done())
        .containsExactly("inner/ask_b false", "inner false");
  }

  @Test
  void aRecorderOfASubflowReceivesOnlyWhatHappensInIt() {
    Calls inStay = new Calls();
    trips.bankFailures = 1;
    Driver trip = trip(inStay.recorder);
    Trips.whole(trip);
    observed(trip);
    assertThat(inStay.calls.get(0).hook()).isEqualTo("onSubflowEntry");
    assertThat(inStay.calls.get(inStay.calls.size() - 1).hook()).isEqualTo("onSubflowExit");
    assertThat(inStay.moments(Observation.Written.class))
        .extracting(RunObserverTest::path)
        .containsExactly("stay.town", "stay.nights", "stay.cost");
    assertThat(inStay.moments(Observation.StageStart.class))
        .extracting(start -> start.moment().node())
        .containsExactly("stay/ask_nights", "stay/cost");
  }

  @Test
  void aRecorderThatIsAttachedTwiceReceivesAllOfItOnce() {
    Calls twice = new Calls();
    Driver trip = trip(twice.recorder);
    Trips.untilPin(trip);
    Calls once = observed(trip, twice.recorder);
    assertThat(twice.calls).isEqualTo(once.calls);
  }

  /** Equal to every other one that has seen the same. */
  private record Seen(List<Observation> events) implements Recorder {
    @Override
    public void onEvent(Observation event) {
      events.add(event);
    }
  }

  @Test
  void recordersThatAreEqualReceiveEachTheirOwn() {
    Seen inStay = new Seen(new ArrayList<>());
    Seen one = new Seen(new ArrayList<>());
    Seen other = new Seen(new ArrayList<>());
    Driver trip = trip(inStay);
    Trips.untilPin(trip);

    observed(trip, one, other);

    assertThat(one.events()).isNotEmpty().isEqualTo(other.events());
    assertThat(inStay.events()).isNotEmpty().hasSizeLessThan(one.events().size());
  }

  // --- live and later -------------------------------------------------------------------------

  private static List<Observation> cut(Driver run, int records) {
    Flow<?> flow = run.program.flow();
    RunObserver before = RunObserver.of(flow, "s");
    List<Observation> all = new ArrayList<>(feed(before, run.entries.subList(0, records)));
    RunState state = before.state();
    RunObserver after = RunObserver.from(state, flow, "s", List.of());
    all.addAll(feed(after, run.entries.subList(records, run.entries.size())));
    return all;
  }

  /** How long a stage took is known to those alone who saw it begin. */
  private static Observation timeless(Observation event) {
    if (!(event.fact() instanceof Observation.StageEnd)) {
      return event;
    }
    Occurrence at = event.moment();
    Occurrence timeless =
        new Occurrence(
            at.flow(),
            at.session(),
            at.run(),
            at.seq(),
            at.index(),
            at.at(),
            at.place(),
            at.kind(),
            null,
            at.inherited());
    return new Observation(timeless, event.fact());
  }

  @Test
  void aRecordingThatBeginsInTheMiddleReportsTheRestInTheSameWords() {
    for (Driver run : everything()) {
      List<Observation> whole = feed(RunObserver.of(run.program.flow(), "s"), run.entries);
      for (int records = 0; records <= run.entries.size(); records++) {
        assertThat(cut(run, records).stream().map(RunObserverTest::timeless))
            .as("after %d records", records)
            .isEqualTo(whole.stream().map(RunObserverTest::timeless).toList());
      }
    }
  }

  @Test
  void aStepThatWaitedThroughARestartIsReportedWithItsWholeWait() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    talk.now += 60_000;
    talk.proceed("a", "x");
    assertThat(cut(talk, 1))
        .isEqualTo(feed(RunObserver.of(talk.program.flow(), "s"), talk.entries));
  }

  @Test
  void aForkIsReportedWithoutTheTimeThatWentByBeforeIt() {
    Driver fork = forked();
    List<Observation> whole = feed(RunObserver.of(fork.program.flow(), "s"), fork.entries);
    assertThat(cut(fork, 1)).isEqualTo(whole);
    Calls calls = observed(fork);
    long lived = onlyObserved(calls, Observation.RunEnd.class).moment().took();
    assertThat(lived).isGreaterThanOrEqualTo(60_000);
    assertThat(onlyObserved(calls, Observation.Resume.class).moment().took()).isEqualTo(lived);
    assertThat(onlyObserved(calls, Observation.StageEnd.class).moment().took()).isEqualTo(lived);
  }

  @Test
  void aFinishedJournalIsReportedAsTheRunWas() {
    trips.bankFailures = 1;
    Driver trip = trip();
    Calls live = new Calls();
    RunObserver recording = RunObserver.of(trip.program.flow(), "s", live.recorder);
    int[] observed = {0};
    Runnable hear =
        () -> {
          feed(recording, trip.entries.subList(observed[0], trip.entries.size()));
          observed[0] = trip.entries.size();
        };
    Trips.untilPin(trip);
    hear.run();
    trip.proceed("pin", "none");
    hear.run();
    trip.proceed("pin", "1234");
    trip.pass();
    trip.signal("receipt", "yes");
    hear.run();
    assertThat(live.calls).isEqualTo(observed(trip).calls);
  }

  @Test
  void whatIsNotSecretIsReportedBehindARedactionAsItIs() {
    for (Driver run : everything()) {
      Calls redacted = new Calls();
      Calls open = observed(run, Redaction.of("no.such.field").over(redacted.recorder));
      assertThat(redacted.calls).isEqualTo(open.calls);
    }
  }

  // --- recorders that throw -------------------------------------------------------------------

  @Test
  void whatARecorderThrowsDisturbsNothingAndIsReportedToTheOthers() {
    Recorder broken =
        new Recorder() {
          @Override
          public String id() {
            return "broken";
          }

          @Override
          public void onDecision(Occurrence at, Event.Decided event) {
            throw new IllegalStateException("No ink");
          }

          @Override
          public void onError(Occurrence at, Observation.Failure event) {
            throw new AssertionError("told of itself");
          }
        };
    Driver trip = whole();
    Calls quiet = observed(trip);
    Calls other = new Calls();
    RunObserver recording = RunObserver.of(trip.program.flow(), "s", broken, other.recorder);
    feed(recording, trip.entries);
    List<Observation.Failure> failures = other.observed(Observation.Failure.class);
    assertThat(failures).hasSize(3);
    assertThat(recording.failures()).isEqualTo(3);
    assertThat(failures.get(0).recorder()).isEqualTo("broken");
    assertThat(failures.get(0).message()).isEqualTo("No ink");
    assertThat(failures.get(0).code()).isNull();
    assertThat(other.moments(Observation.Failure.class).get(0).moment().step())
        .isEqualTo("ask_pin#1");
    other.calls.removeIf(call -> call.event().fact() instanceof Observation.Failure);
    assertThat(other.calls).isEqualTo(quiet.calls);
  }

  @Test
  void whatItThrowsAtARecordAsAWholeIsReportedAsWell() {
    Recorder broken =
        new Recorder() {
          @Override
          public String id() {
            throw new IllegalStateException("Not even a name");
          }

          @Override
          public void onEntry(ObservedEntry entry) {
            throw new IllegalStateException();
          }
        };
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    Calls other = observed(talk, broken);
    Observation.Failure failure = only(other, Observation.Failure.class);
    assertThat(failure.message()).isEqualTo("IllegalStateException");
    assertThat(failure.recorder()).isNotBlank();
  }

  @Test
  void twoThatThrowAtErrorsDoNotKeepEachOtherBusy() {
    Recorder throwing =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            throw new IllegalStateException("always");
          }
        };
    Recorder another =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            throw new IllegalStateException("always, too");
          }
        };
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    RunObserver recording = RunObserver.of(talk.program.flow(), "s", throwing, another);
    int events = feed(recording, talk.entries).size();
    assertThat(recording.failures()).isEqualTo(4L * events);
  }

  @Test
  void aBrokenProcessIsNotARecordersFault() {
    Recorder dying =
        new Recorder() {
          @Override
          public void onEvent(Observation event) {
            throw new OutOfMemoryError("none left");
          }
        };
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.feed(new Input.Start("r", "i", object(), 1));
    assertThatThrownBy(() -> observed(talk, dying)).isInstanceOf(OutOfMemoryError.class);
  }
}
