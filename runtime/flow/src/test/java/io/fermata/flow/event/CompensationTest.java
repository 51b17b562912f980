package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.ForEach;
import io.fermata.flow.JoinTest;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Branches;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What a run did is undone when it is cancelled, when it fails, and when it goes back. */
class CompensationTest {
  private final List<String> ran = new ArrayList<>();
  private final Set<String> broken = new HashSet<>();

  private void work(String name) {
    ran.add(name);
    if (broken.contains(name)) {
      throw new StepException(name + " fails.");
    }
  }

  /** Adds actions that can be undone. */
  private FlowBuilder<Flows.Talk> acts(FlowBuilder<Flows.Talk> flow, String... names) {
    for (String name : names) {
      flow.act(name, run -> work(name)).compensate(name, run -> work("undo " + name));
    }
    return flow;
  }

  private static StepEffect effect(Driver talk, String node) {
    return ((Program.Perform<StepEffect>) talk.program.next(talk.state))
        .effects().stream()
            .filter(effect -> effect.place().node().equals(node))
            .findFirst()
            .orElseThrow();
  }

  private List<String> undone(Driver talk) {
    return talk.events(Event.Undone.class).stream().map(e -> e.place().toString()).toList();
  }

  // --- cancelling -----------------------------------------------------------------------------

  @Test
  void cancellingUndoesTheLatestFirstAndOnlyWhatHappened() {
    Driver talk =
        drive(ask(acts(talk(), "one", "two", "three"), "a"), "one", "two", "ask_a", "three");
    talk.start();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", "two", "undo two", "undo one");
    assertThat(undone(talk)).containsExactly("two#1", "one#1");
    assertThat(talk.state.status()).isEqualTo(RunState.Status.CANCELLED);
  }

  @Test
  void undoingIsJournaledBeforeItIsDone() {
    Driver talk = drive(ask(acts(talk(), "one"), "a"), "one", "ask_a");
    talk.start();
    talk.feed(new Input.Cancel(5));
    assertThat(talk.journal.subList(talk.journal.size() - 3, talk.journal.size()))
        .containsExactly(
            new Event.Ending(null, null, List.of(new Place("one", 1)), 5),
            new Event.Undoing(new Place("one", 1), 5),
            new Event.Attempted(new Place("one", 1).undo(), null, 1, 5));
    assertThat(ran).containsExactly("one");
    assertThat(code(talk.settle())).isEqualTo("run_cancelled");
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
  }

  @Test
  void withoutAnythingToUndoTheRunIsCancelledAtOnce() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
    assertThat(talk.events(Event.Ending.class)).isEmpty();
  }

  @Test
  void aCompensationSeesWhatWasKnownWhenTheActionHadSucceededAndItsKey() {
    List<String> seen = new ArrayList<>();
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "book",
                    run -> {
                      seen.add(run.idempotencyKey());
                      run.set("c", "booked for " + run.state().a());
                    })
                .act("spoil", run -> run.set("c", "spoilt").set("a", "spoilt"))
                .compensate(
                    "book",
                    run -> {
                      seen.add(run.undoes());
                      seen.add(run.state().c());
                      run.set("c", "not kept");
                    })
                .ask("ask_b", q -> q.question("b", "b?")),
            "ask_a",
            "book",
            "spoil",
            "ask_b");
    talk.start("a", "x");
    talk.cancel();
    assertThat(seen).hasSize(3).endsWith("booked for x");
    assertThat(seen.get(0)).isEqualTo(seen.get(1));
    assertThat(talk.state.data().path("c").asText()).isEqualTo("spoilt");
  }

  @Test
  void whatIsInFlightIsUndoneFirstForNobodyKnowsWhetherItHappened() {
    Driver talk = drive(acts(talk(), "one", "two"), "one", "two");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect one = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(one, talk.result(one), 2));
    StepEffect two = talk.pendingEffect();
    talk.feed(new Input.Cancel(3));
    talk.feed(new Input.EffectEnded(two, talk.result(two), 4));
    assertThat(code(talk.settle())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", "two", "undo two", "undo one");
  }

  @Test
  void aRunThatIsBeingUndoneTakesNoCallsButRepeatsOfTheCancel() {
    Driver talk = drive(ask(acts(talk(), "one"), "a"), "one", "ask_a");
    talk.start();
    talk.feed(new Input.Cancel(5));
    int events = talk.journal.size();
    for (Input call :
        List.of(
            new Input.Continue(object("a", "x"), 6),
            new Input.Reset(object("a", "x"), 6),
            new Input.Start("other", "i", Json.object(), 6))) {
      Program.Acceptance<RunState, Event> acceptance = talk.program.accept(talk.state, call);
      assertThat(acceptance).isInstanceOf(Program.Refused.class);
      assertThat(((Program.Refused<RunState, Event>) acceptance).failure().code())
          .isEqualTo("run_ending");
    }
    talk.feed(new Input.Cancel(7));
    assertThat(talk.journal).hasSize(events);
    assertThat(code(talk.settle())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", "undo one");
  }

  @Test
  void aCrashWhileUndoingUndoesTheRestOnce() {
    Driver talk = drive(ask(acts(talk(), "one", "two"), "a"), "one", "two", "ask_a");
    talk.start();
    talk.feed(new Input.Cancel(5));
    StepEffect undo = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(undo, talk.result(undo), 6));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(code(talk.settle())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", "two", "undo two", "undo one");
  }

  // --- failing --------------------------------------------------------------------------------

  @Test
  void aFlowThatEndsOnFailureUndoesWhatItDidAndHasFailed() {
    Driver talk =
        drive(
            acts(talk(), "one", "two").act("three", run -> work("three")).endOnFailure(),
            "one",
            "two",
            "three");
    broken.add("three");
    Outcome end = talk.start();
    assertThat(code(end)).isEqualTo("run_failed");
    assertThat(failure(end).message()).isEqualTo("three fails. Start a new run.");
    assertThat(ran).containsExactly("one", "two", "three", "undo two", "undo one");
    assertThat(talk.state.status()).isEqualTo(RunState.Status.FAILED);
    assertThat(talk.events(Event.Failed.class).get(0).code()).isEqualTo(ErrorCode.STEP_FAILED);
    assertThat(code(talk.proceed())).isEqualTo("run_failed");
  }

  @Test
  void theFailedStepIsUndoneTooForNobodyKnowsHowFarItCame() {
    Driver talk = drive(acts(talk(), "one", "two").endOnFailure(), "one", "two");
    broken.add("two");
    talk.start();
    assertThat(ran).containsExactly("one", "two", "undo two", "undo one");
  }

  @Test
  void aRetryComesBeforeTheEnd() {
    Driver talk =
        drive(
            talk()
                .act(
                    "one",
                    run -> {
                      ran.add("attempt " + run.attempt());
                      if (run.attempt() == 1) {
                        throw new StepException("Once.");
                      }
                    },
                    o -> o.retry(2, Duration.ofSeconds(1)))
                .endOnFailure(),
            "one");
    assertThat(talk.start()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("attempt 1", "attempt 2");
  }

  @Test
  void aRejectedAnswerIsNoFailure() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "a?", o -> o.validate((String a) -> Verdict.reject("No."))))
                .endOnFailure(),
            "ask");
    talk.start();
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("answer_rejected");
    assertThat(talk.state.running()).isTrue();
  }

  @Test
  void withoutItTheRunIsStoppedAndNothingIsUndone() {
    Driver talk = drive(acts(talk(), "one", "two"), "one", "two");
    broken.add("two");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(ran).containsExactly("one", "two");
  }

  @Test
  void whatASubFlowSaysOfFailureHoldsForTheWholeRun() {
    Flow<Flows.Talk> inner =
        chain(acts(talk(), "two", "three").endOnFailure(), "two", "three").compile();
    Driver talk = drive(acts(talk(), "one").subflow("sub", inner, m -> {}), "one", "sub");
    broken.add("three");
    assertThat(code(talk.start())).isEqualTo("run_failed");
    assertThat(ran).containsExactly("one", "two", "three", "undo three", "undo two", "undo one");
  }

  // --- side by side ---------------------------------------------------------------------------

  private Driver forked(Consumer<FlowBuilder<Flows.Talk>> more, Consumer<Branches> policy) {
    FlowBuilder<Flows.Talk> flow =
        ask(ask(acts(talk(), "before", "one", "two", "after"), "a"), "b")
            .edge(START, "before")
            .fork("before", f -> policy.accept(f.branch("one").branch("ask_a").join("after")))
            .edge("one", "after")
            .edge("ask_a", "two")
            .edge("two", "after")
            .edge("after", "ask_b")
            .edge("ask_b", END);
    more.accept(flow);
    return new Driver(flow.compile());
  }

  @Test
  void branchesAreUndoneInTheOrderThatThingsHappened() {
    Driver talk = forked(f -> {}, f -> {});
    talk.start();
    talk.cancel();
    assertThat(ran).containsExactly("before", "one", "undo one", "undo before");
  }

  @Test
  void whatBranchesDidIsUndoneAfterTheyHaveJoinedToo() {
    Driver talk = forked(f -> {}, f -> {});
    talk.start();
    assertThat(asked(talk.proceed("a", "x"))).containsExactly("b");
    talk.cancel();
    assertThat(ran)
        .containsExactly(
            "before", "one", "two", "after", "undo after", "undo two", "undo one", "undo before");
    assertThat(undone(talk))
        .containsExactly("after#1", "before#1:ask_a|two#1", "before#1:one|one#1", "before#1");
  }

  @Test
  void aDroppedBranchIsUndoneOnceAndNotAgainWhenTheRunIsCancelled() {
    Driver talk =
        new Driver(
            ask(ask(acts(talk(), "one"), "a"), "b")
                .fork(START, f -> f.branch("one").branch("ask_a").join("ask_b").first())
                .edge("one", "nap")
                .sleep("nap", Duration.ofHours(1))
                .edge("nap", "ask_b")
                .edge("ask_a", "ask_b")
                .edge("ask_b", END)
                .compile());
    talk.start();
    talk.proceed("a", "x");
    talk.cancel();
    assertThat(ran).containsExactly("one", "undo one");
  }

  @Test
  void aFailureInABranchEndsTheWholeRun() {
    Driver talk = forked(FlowBuilder::endOnFailure, f -> {});
    broken.add("two");
    talk.start();
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("run_failed");
    assertThat(ran).containsExactly("before", "one", "two", "undo two", "undo one", "undo before");
  }

  @Test
  void unlessFailuresAreCollectedAndThenOnlyTheBranchIsUndone() {
    Driver talk = forked(FlowBuilder::endOnFailure, f -> f.collect("failures"));
    broken.add("one");
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(talk.state.running()).isTrue();
    assertThat(ran).containsExactly("before", "one");
  }

  record Collected(String a, Boolean flag, @Computed List<JoinTest.Failure> failures) {}

  @Test
  void aBranchThatIsAbandonedIsUndoneWithTheStepThatFailedAndWhatWasInFlight() {
    FlowBuilder<Collected> flow = Flow.of("collect", Collected.class).description("Collects.");
    for (String name : List.of("first", "fails", "slow", "other", "after")) {
      flow.act(name, run -> work(name)).compensate(name, run -> work("undo " + name));
    }
    Driver talk =
        new Driver(
            flow.fork(
                    START, f -> f.branch("first").branch("other").join("after").collect("failures"))
                .fork("first", f -> f.branch("fails").branch("slow").join("joined"))
                .act("joined", run -> {})
                .edge("fails", "joined")
                .edge("slow", "joined")
                .edge("joined", "after")
                .edge("other", "after")
                .edge("after", END)
                .compile());
    broken.add("fails");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect first = effect(talk, "first");
    StepEffect other = effect(talk, "other");
    talk.feed(new Input.EffectEnded(first, talk.result(first), 2));
    StepEffect slow = effect(talk, "slow");
    Input.Result late = talk.result(slow);
    StepEffect fails = effect(talk, "fails");
    talk.feed(new Input.EffectEnded(fails, talk.result(fails), 3));
    talk.feed(new Input.EffectEnded(slow, late, 4));
    talk.feed(new Input.EffectEnded(other, talk.result(other), 5));
    assertThat(talk.settle()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran)
        .containsExactly(
            "first", "slow", "fails", "other", "undo fails", "undo slow", "undo first", "after");
  }

  @Test
  void aOnceStepInFlightInABranchThatIsAbandonedIsNotRepeated() {
    FlowBuilder<Collected> flow =
        Flow.of("collect", Collected.class)
            .description("Collects.")
            .ask("ask_a", q -> q.question("a", "a?"))
            .act("begin", run -> {})
            .act("fails", run -> work("fails"))
            .act("pay", run -> work("pay"), o -> o.once())
            .act("joined", run -> {});
    Driver talk =
        new Driver(
            flow.fork(START, f -> f.branch("begin").branch("ask_a").join(END).collect("failures"))
                .fork("begin", f -> f.branch("fails").branch("pay").join("joined"))
                .edge("fails", "joined")
                .edge("pay", "joined")
                .edge("joined", END)
                .edge("ask_a", END)
                .compile());
    broken.add("fails");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect begin = effect(talk, "begin");
    talk.feed(new Input.EffectEnded(begin, talk.result(begin), 2));
    StepEffect pay = effect(talk, "pay");
    Input.Result late = talk.result(pay);
    StepEffect fails = effect(talk, "fails");
    talk.feed(new Input.EffectEnded(fails, talk.result(fails), 3));
    talk.feed(new Input.EffectEnded(pay, late, 4));
    assertThat(asked(talk.settle())).containsExactly("a");
    assertThat(code(talk.reset("flag", true))).isEqualTo("reset_past_once");
    assertThat(ran).containsExactly("pay", "fails");
  }

  // --- sub-flows and loops --------------------------------------------------------------------

  @Test
  void aSubFlowThatHasEndedIsUndoneWithItsOwnState() {
    Flow<Flows.Talk> inner =
        chain(
                talk()
                    .act("book", run -> run.set("c", "seat 7"))
                    .compensate("book", run -> ran.add("undo " + run.state().c())),
                "book")
            .compile();
    Driver talk = drive(ask(talk().subflow("sub", inner, m -> {}), "a"), "sub", "ask_a");
    talk.start();
    talk.cancel();
    assertThat(ran).containsExactly("undo seat 7");
    assertThat(undone(talk)).containsExactly("sub/book#1");
  }

  @Test
  void everyPassOfALoopIsUndone() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .act("add", run -> ran.add("add " + run.state().a()))
                .compensate("add", run -> ran.add("undo " + run.state().a()))
                .edge(START, "ask_a")
                .edge("ask_a", "add")
                .decide("add", d -> d.when(eq("a", "stop")).to(END).otherwise("ask_a"))
                .compile());
    talk.start("a", "1");
    talk.proceed("a", "2");
    talk.cancel();
    assertThat(ran).containsExactly("add 1", "add 2", "undo 2", "undo 1");
  }

  @Test
  void theItemsOfAListAreUndoneEachWithItsOwnState() {
    Flow<Flows.Talk> item =
        chain(
                ask(
                    talk()
                        .act("book", run -> ran.add("book " + run.state().a()))
                        .compensate("book", run -> ran.add("undo " + run.state().a())),
                    "b"),
                "book",
                "ask_b")
            .compile();
    Driver talk =
        drive(
            talk()
                .forEach(
                    "each",
                    item,
                    (ForEach<Flows.Talk, String> o) ->
                        o.items(Flows.Talk::list).input((t, name) -> Map.of("a", name)).atMost(3)),
            "each");
    talk.start("list", List.of("x", "y"));
    talk.cancel();
    assertThat(ran).containsExactly("book x", "book y", "undo y", "undo x");
  }

  // --- going back -----------------------------------------------------------------------------

  @Test
  void aCorrectionUndoesWhatItGoesBackOverBeforeAnythingHappensAgain() {
    Driver talk =
        drive(
            ask(ask(ask(acts(talk(), "one", "two", "three"), "a"), "b"), "c"),
            "one",
            "ask_a",
            "two",
            "ask_b",
            "three",
            "ask_c");
    talk.start("a", "x", "b", "y");
    ran.clear();
    assertThat(asked(talk.reset("a", "z"))).containsExactly("c");
    assertThat(ran).containsExactly("undo three", "undo two", "two", "three");
  }

  @Test
  void nothingIsUndoneTwice() {
    Driver talk = drive(ask(ask(acts(talk(), "one"), "a"), "b"), "ask_a", "one", "ask_b");
    talk.start("a", "x");
    talk.reset("a", "y");
    talk.reset("a", "z");
    talk.cancel();
    assertThat(ran).containsExactly("one", "undo one", "one", "undo one", "one", "undo one");
    assertThat(undone(talk)).doesNotHaveDuplicates();
  }

  // --- failing to undo ------------------------------------------------------------------------

  private Driver stuck() {
    Driver talk =
        drive(ask(acts(talk(), "one", "two", "three"), "a"), "one", "two", "three", "ask_a");
    talk.start();
    broken.add("undo two");
    return talk;
  }

  @Test
  void aCompensationThatFailsStopsThereAndIsTriedAgain() {
    Driver talk = stuck();
    Outcome stop = talk.cancel();
    assertThat(code(stop)).isEqualTo("compensation_failed");
    assertThat(failure(stop).message()).contains("undo two fails.");
    assertThat(code(talk.proceed())).isEqualTo("compensation_failed");
    broken.clear();
    assertThat(code(talk.proceed())).isEqualTo("run_cancelled");
    assertThat(ran.subList(3, ran.size()))
        .containsExactly("undo three", "undo two", "undo two", "undo two", "undo one");
  }

  @Test
  void anAsynchronousCompensationThatFailsStopsTheRun() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act("one", run -> work("one"))
                .compensateAsync(
                    "one", run -> CompletableFuture.runAsync(() -> work("undo " + run.undoes()))),
            "one",
            "ask_a");
    talk.start();
    String undo = "undo " + talk.state.runId() + "/one#1";
    broken.add(undo);
    Outcome stop = talk.cancel();
    assertThat(code(stop)).isEqualTo("compensation_failed");
    assertThat(failure(stop).message()).contains(undo + " fails.");
    broken.clear();
    assertThat(code(talk.proceed())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", undo, undo);
  }

  @Test
  void somebodyMaySayThatItWasUndoneByHand() {
    Driver talk = stuck();
    talk.cancel();
    assertThat(code(talk.resolve(Input.Resolution.RETRY))).isEqualTo("compensation_failed");
    assertThat(code(talk.resolve(Input.Resolution.SKIP))).isEqualTo("run_cancelled");
    assertThat(ran.subList(3, ran.size()))
        .containsExactly("undo three", "undo two", "undo two", "undo one");
  }

  @Test
  void aCompensationMayBeRetriedByItself() {
    Driver talk =
        drive(
            ask(talk().act("one", run -> {}), "a")
                .compensate(
                    "one",
                    run -> {
                      ran.add("undo " + run.attempt());
                      if (run.attempt() < 3) {
                        throw new StepException("Not yet.");
                      }
                    },
                    o -> o.retry(3, Duration.ofSeconds(1))),
            "one",
            "ask_a");
    talk.start();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("undo 1", "undo 2", "undo 3");
  }

  @Test
  void afterACorrectionToo() {
    Driver talk = drive(ask(ask(acts(talk(), "one"), "a"), "b"), "ask_a", "one", "ask_b");
    talk.start("a", "x");
    broken.add("undo one");
    Outcome stop = talk.reset("a", "y");
    assertThat(code(stop)).isEqualTo("compensation_failed");
    assertThat(ran).containsExactly("one", "undo one");
    assertThat(code(talk.proceed("b", "early"))).isEqualTo("compensation_failed");
    broken.clear();
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.data()).isEqualTo(object("a", "y", "b", "early"));
    assertThat(ran).containsExactly("one", "undo one", "undo one", "undo one", "one");
  }

  @Test
  void aRunWhoseCorrectionIsBeingUndoneIsNotAbandonedForANewOne() {
    Driver talk = drive(ask(ask(acts(talk(), "one"), "a"), "b"), "ask_a", "one", "ask_b");
    talk.start("a", "x");
    broken.add("undo one");
    talk.reset("a", "y");
    assertThat(code(talk.start())).isEqualTo("run_ending");
    broken.clear();
    assertThat(asked(talk.proceed())).containsExactly("b");
    assertThat(asked(talk.start())).containsExactly("a");
  }

  @Test
  void aFurtherCorrectionWaitsForTheUndoingOfTheFirst() {
    Driver talk =
        drive(
            ask(ask(ask(acts(talk(), "one", "two"), "a"), "b"), "c"),
            "ask_a",
            "one",
            "ask_b",
            "two",
            "ask_c");
    talk.start("a", "x", "b", "y");
    broken.add("undo two");
    talk.reset("b", "z");
    broken.clear();
    assertThat(asked(talk.reset("a", "w"))).containsExactly("c");
    assertThat(ran).containsExactly("one", "two", "undo two", "undo two", "undo one", "one", "two");
    assertThat(talk.state.data()).isEqualTo(object("a", "w", "b", "z"));
  }

  @Test
  void aFurtherCorrectionLeavesTheUndoingOfTheFirstTheAttemptsThatItHas() {
    Driver talk =
        drive(
            ask(ask(ask(talk(), "a"), "b"), "c")
                .act("one", run -> {})
                .compensate(
                    "one",
                    run -> work("undo " + run.attempt()),
                    o -> o.retry(3, Duration.ofSeconds(1))),
            "ask_a",
            "ask_b",
            "one",
            "ask_c");
    talk.start("a", "x", "b", "y");
    broken.addAll(Set.of("undo 1", "undo 2", "undo 3"));
    talk.feed(new Input.Reset(object("b", "z"), talk.now++));
    StepEffect first = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(first, talk.result(first), talk.now++));

    assertThat(code(talk.reset("a", "w"))).isEqualTo("compensation_failed");
    assertThat(ran).containsExactly("undo 1", "undo 2", "undo 3");
    assertThat(talk.events(Event.Undoing.class)).hasSize(1);
    assertThat(asked(talk.proceed())).containsExactly("c");
    assertThat(talk.state.data()).isEqualTo(object("a", "w", "b", "z"));
  }

  @Test
  void aFurtherCorrectionDoesNotUndoBesideAnAttemptThatIsRunning() {
    Driver talk =
        drive(ask(ask(ask(acts(talk(), "one"), "a"), "b"), "c"), "ask_a", "ask_b", "one", "ask_c");
    talk.start("a", "x", "b", "y");
    talk.feed(new Input.Reset(object("b", "z"), talk.now++));
    talk.crash(talk.journal.size());
    talk.recover();
    StepEffect second = talk.pendingEffect();
    talk.feed(new Input.Reset(object("a", "w"), talk.now++));

    assertThat(talk.pendingEffect().key()).isEqualTo(second.key());
    assertThat(asked(talk.settle())).containsExactly("c");
    assertThat(ran).containsExactly("one", "undo one", "one");
  }

  @Test
  void aCorrectionMayComeWhileADroppedBranchCannotBeUndone() {
    Driver talk =
        new Driver(
            ask(ask(ask(acts(talk(), "one"), "a"), "b"), "c")
                .fork(START, f -> f.branch("one").branch("ask_a").join("fork").first())
                .act("fork", run -> {})
                .act("joined", run -> {})
                .edge("one", "nap")
                .sleep("nap", Duration.ofHours(1))
                .edge("nap", "fork")
                .edge("ask_a", "fork")
                .fork("fork", f -> f.branch("ask_b").branch("ask_c").join("joined"))
                .edge("ask_b", "joined")
                .edge("ask_c", "joined")
                .edge("joined", END)
                .compile());
    talk.start();
    broken.add("undo one");
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("compensation_failed");
    assertThat(code(talk.reset("b", "y"))).isEqualTo("compensation_failed");
    assertThat(ran).containsExactly("one", "undo one", "undo one");
    broken.clear();
    assertThat(asked(talk.proceed())).containsExactly("c");
  }

  @Test
  void cancellingWhileACorrectionIsBeingUndoneUndoesTheRest() {
    Driver talk =
        drive(ask(ask(acts(talk(), "one", "two"), "a"), "b"), "one", "ask_a", "two", "ask_b");
    talk.start("a", "x");
    broken.add("undo two");
    talk.reset("a", "y");
    broken.clear();
    talk.cancel();
    assertThat(code(talk.proceed())).isEqualTo("run_cancelled");
    assertThat(ran).containsExactly("one", "two", "undo two", "undo two", "undo one");
  }

  @Test
  void anInterruptedCompensationThatMayRunOnlyOnceNeedsADecision() {
    Driver talk =
        drive(
            ask(talk().act("one", run -> {}), "a")
                .compensate("one", run -> ran.add("undo"), o -> o.once()),
            "one",
            "ask_a");
    talk.start();
    talk.feed(new Input.Cancel(5));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
    assertThat(code(talk.proceed())).isEqualTo("outcome_unknown");
    assertThat(code(talk.resolve(Input.Resolution.SKIP))).isEqualTo("run_cancelled");
    assertThat(ran).isEmpty();
  }

  @Test
  void anActionThatSomebodyTookAsDoneIsUndoneLikeOthers() {
    Driver talk =
        drive(
            ask(talk().act("pay", run -> {}, o -> o.once()), "a")
                .compensate("pay", run -> ran.add("undo pay")),
            "pay",
            "ask_a");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(asked(talk.resolve(Input.Resolution.SKIP))).containsExactly("a");
    talk.cancel();
    assertThat(ran).containsExactly("undo pay");
  }
}
