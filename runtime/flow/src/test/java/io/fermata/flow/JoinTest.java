package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** How many branches a join waits for, and what the failure of one means for the others. */
public class JoinTest {
  private final List<String> ran = new ArrayList<>();
  private final Set<String> broken = new HashSet<>();
  private boolean ordinary;

  private void work(Run<Flows.Talk> run, String name) {
    ran.add(name);
    if (broken.contains(name)) {
      throw new StepException(name + " fails.");
    }
    run.append("log", name);
  }

  /** Branches that ask for a, b and c and then act, each undone if need be. */
  private Driver asking(Consumer<Branches> policy) {
    FlowBuilder<Flows.Talk> flow = ask(ask(ask(talk(), "a"), "b"), "c");
    for (String field : List.of("a", "b", "c")) {
      flow.act("act_" + field, run -> work(run, field))
          .compensate("act_" + field, run -> ran.add("undo " + field))
          .edge("ask_" + field, "act_" + field)
          .edge("act_" + field, "join");
    }
    return new Driver(
        flow.act("join", run -> ran.add("join"))
            .reduce("log", Reducer.append())
            .fork(
                START,
                f -> policy.accept(f.branch("ask_a").branch("ask_b").branch("ask_c").join("join")))
            .edge("join", END)
            .compile());
  }

  // --- who is waited for ----------------------------------------------------------------------

  @Test
  void theFirstBranchDecidesAndTheQuestionsOfTheOthersAreWithdrawn() {
    Driver talk = asking(Branches::first);
    assertThat(asked(talk.start())).containsExactly("a", "b", "c");
    Outcome end = talk.proceed("b", "y");
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("b")));
    assertThat(ran).containsExactly("b", "join");
    Event.Joined joined = talk.events(Event.Joined.class).get(0);
    assertThat(joined.merged()).containsExactly("ask_b");
    assertThat(joined.dropped()).containsExactly("ask_a", "ask_c");
  }

  @Test
  void aQuorumWaitsForSoMany() {
    Driver talk = asking(f -> f.quorum(2));
    talk.start();
    assertThat(asked(talk.proceed("c", "z"))).containsExactly("a", "b");
    assertThat(result(talk.proceed("a", "x")).path("log")).isEqualTo(Json.tree(List.of("a", "c")));
  }

  @Test
  void whatADroppedBranchDidIsUndoneBeforeTheRunContinues() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .act("book", run -> ran.add("book " + run.idempotencyKey()))
                .compensate("book", run -> ran.add("undo " + run.undoes()))
                .act("join", run -> ran.add("join"))
                .fork(START, f -> f.branch("ask_a").branch("book").join("join").first())
                .edge("ask_a", "join")
                .edge("book", "ask_b")
                .edge("ask_b", "join")
                .edge("join", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a", "b");
    talk.proceed("a", "x");
    String key = talk.state.runId() + "/" + START + "#1:book|book#1";
    assertThat(ran).containsExactly("book " + key, "undo " + key, "join");
  }

  @Test
  void whatADroppedBranchHasInFlightIsUndoneToo() {
    Driver talk = asking(Branches::first);
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "x", "b", "y"), 5));
    StepEffect a = effect(talk, "act_a");
    StepEffect b = effect(talk, "act_b");
    talk.feed(new Input.EffectEnded(a, talk.result(a), 6));
    talk.feed(
        new Input.EffectEnded(
            b, new Input.Wrote(List.of(), List.of(), List.of(), Tagging.NONE, null), 7));
    talk.settle();
    assertThat(ran).containsExactly("a", "undo b", "join");
  }

  private static StepEffect effect(Driver talk, String node) {
    return ((Program.Perform<StepEffect>) talk.program.next(talk.state))
        .effects().stream()
            .filter(effect -> effect.place().node().equals(node))
            .findFirst()
            .orElseThrow();
  }

  @Test
  void theResultOfADroppedBranchThatComesLateIsIgnored() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .act("slow", run -> run.set("b", "late"))
                .fork(START, f -> f.branch("ask_a").branch("slow").join("ask_c").first())
                .ask("ask_c", q -> q.question("c", "c?"))
                .edge("ask_a", "ask_c")
                .edge("slow", "ask_c")
                .edge("ask_c", END)
                .compile());
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect slow = talk.pendingEffect();
    talk.feed(new Input.Continue(Driver.object("a", "x"), 2));
    int events = talk.journal.size();
    talk.feed(new Input.EffectEnded(slow, talk.result(slow), 3));
    assertThat(talk.journal).hasSize(events);
    assertThat(asked(talk.settle())).containsExactly("c");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
  }

  @Test
  void whatWasSaidInADroppedBranchIsForgottenWithIt() {
    Driver talk = asking(f -> f.quorum(2));
    broken.add("c");
    talk.start();
    talk.proceed("c", "z");
    assertThat(result(talk.proceed("a", "x", "b", "y")).has("c")).isFalse();
  }

  @Test
  void aStepThatMayRunOnlyOnceIsNotRepeatedBecauseItsBranchWasDropped() {
    Driver talk =
        new Driver(
            ask(ask(ask(talk(), "a"), "b"), "c")
                .act("pay", run -> ran.add("pay"), o -> o.once())
                .fork(START, f -> f.branch("ask_a").branch("pay").join("ask_c").first())
                .edge("ask_a", "ask_c")
                .edge("pay", "ask_b")
                .edge("ask_b", "ask_c")
                .edge("ask_c", END)
                .compile());
    talk.start();
    assertThat(asked(talk.proceed("a", "x"))).containsExactly("c");
    assertThat(code(talk.reset("a", "y"))).isEqualTo("reset_past_once");
    assertThat(ran).containsExactly("pay");
  }

  // --- failures: only the branch --------------------------------------------------------------

  @Test
  void aFailureHaltsItsBranchAloneAndContinueRetriesThatStepAlone() {
    Driver talk = asking(f -> {});
    broken.add("b");
    talk.start();
    Outcome stop = talk.proceed("a", "x", "b", "y");
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(asked(stop)).containsExactly("c");
    assertThat(code(talk.proceed("c", "z"))).isEqualTo("step_failed");
    broken.clear();
    assertThat(result(talk.proceed()).path("log")).isEqualTo(Json.tree(List.of("a", "b", "c")));
    assertThat(ran).containsExactly("a", "b", "b", "c", "b", "join");
  }

  // --- failures: all at once ------------------------------------------------------------------

  @Test
  void failFastStopsTheOthersWhereTheyAreAndContinueLetsAllFinish() {
    Driver talk = asking(Branches::failFast);
    broken.add("b");
    talk.start();
    Outcome stop = talk.proceed("b", "y");
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(failure(stop).message())
        .isEqualTo("b fails. Continue without stateUpdates to try that step again.");
    assertThat(asked(stop)).isEmpty();
    assertThat(talk.events(Event.Stopped.class))
        .extracting(Event.Stopped::code)
        .containsExactly(
            ErrorCode.STEP_FAILED, ErrorCode.BRANCH_CANCELLED, ErrorCode.BRANCH_CANCELLED);
    assertThat(code(talk.proceed())).isEqualTo("step_failed");
    broken.clear();
    assertThat(asked(talk.proceed())).containsExactly("a", "c");
    assertThat(talk.proceed("a", "x", "c", "z")).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("b", "b", "b", "a", "c", "join");
  }

  @Test
  void anAnswerGivenWhileABranchIsStoppedIsTakenWhenItContinues() {
    Driver talk = asking(Branches::failFast);
    broken.add("b");
    talk.start();
    talk.proceed("b", "y");
    broken.clear();
    assertThat(asked(talk.proceed("a", "x"))).containsExactly("c");
  }

  @Test
  void aCorrectionInTheFailedBranchLetsTheOthersContinue() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .act(
                    "act",
                    run -> AskingTest.orThrow(new boolean[] {run.state().b().equals("bad")}, ""))
                .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END).failFast())
                .edge("ask_a", END)
                .edge("ask_b", "act")
                .edge("act", END)
                .compile());
    talk.start();
    assertThat(code(talk.proceed("b", "bad"))).isEqualTo("step_failed");
    assertThat(asked(talk.reset("b", "good"))).containsExactly("a");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aSleepingBranchStillSleepsWhenItContinues() {
    broken.add("b");
    Driver talk =
        new Driver(
            talk()
                .sleep("nap", Duration.ofHours(1))
                .act("act", run -> work(run, "b"))
                .fork(START, f -> f.branch("nap").branch("act").join(END).failFast())
                .edge("nap", END)
                .edge("act", END)
                .compile());
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.timers()).isEmpty();
    broken.clear();
    assertThat(code(talk.proceed())).isEqualTo("waiting");
    assertThat(talk.timers()).extracting(StepEffect::due).containsExactly(3_601_000L);
    assertThat(talk.pass()).isInstanceOf(Outcome.Complete.class);
  }

  /** A branch that fails beside one that works, under failFast. */
  private Driver besideWork(boolean once) {
    broken.add("b");
    return new Driver(
        talk()
            .act("pay", run -> work(run, "pay"), o -> once(o, once))
            .act("then", run -> work(run, "then"))
            .act("act", run -> work(run, "b"))
            .reduce("log", Reducer.append())
            .fork(START, f -> f.branch("pay").branch("act").join(END).failFast())
            .edge("pay", "then")
            .edge("then", END)
            .edge("act", END)
            .compile());
  }

  private static void once(EffectOptions options, boolean once) {
    if (once) {
      options.once();
    }
  }

  @Test
  void aOnceStepInFlightIsLeftToFinishAndItsBranchStopsBehindIt() {
    Driver talk = besideWork(true);
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect pay = effect(talk, "pay");
    StepEffect act = effect(talk, "act");
    talk.feed(new Input.EffectEnded(act, talk.result(act), 2));
    assertThat(talk.program.next(talk.state)).isInstanceOf(Program.Perform.class);
    talk.feed(new Input.EffectEnded(pay, talk.result(pay), 3));
    assertThat(code(talk.settle())).isEqualTo("step_failed");
    broken.clear();
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("b", "pay", "b", "then");
  }

  @Test
  void anyOtherStepInFlightIsBegunAgain() {
    Driver talk = besideWork(false);
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect pay = effect(talk, "pay");
    StepEffect act = effect(talk, "act");
    talk.feed(new Input.EffectEnded(act, talk.result(act), 2));
    talk.feed(new Input.EffectEnded(pay, talk.result(pay), 3));
    assertThat(code(talk.settle())).isEqualTo("step_failed");
    broken.clear();
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("b", "pay", "pay", "b", "then");
  }

  // --- failures: collected --------------------------------------------------------------------

  @Test
  void aCollectedFailureGivesTheBranchUpAndIsListed() {
    Driver talk = collecting(f -> {});
    broken.add("one");
    Outcome end = talk.start();
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("two")));
    assertThat(talk.state.data().path("failures"))
        .isEqualTo(
            Json.tree(
                List.of(
                    Driver.object(
                        "branch", "one", "code", "step_failed", "message", "one fails."))));
  }

  @Test
  void aCollectedFailureOfAnOrdinaryExceptionNamesItsStepAndNoInternals() {
    Driver talk = collecting(f -> {});
    broken.add("one");
    ordinary = true;
    talk.start();
    assertThat(talk.state.data().path("failures").path(0).path("message").asText())
        .isEqualTo("A step of the flow failed: one.");
  }

  record Collected(List<String> log, @Computed List<Failure> failures) {}

  public record Failure(String branch, String code, String message) {}

  private Driver collecting(Consumer<Branches> policy) {
    FlowBuilder<Collected> flow =
        Flow.of("collect", Collected.class).description("Collects.").result(s -> s);
    for (String name : List.of("one", "two")) {
      flow.act(
              name,
              run -> {
                ran.add(name);
                if (broken.contains(name) && ordinary) {
                  throw new IllegalStateException("table one is locked");
                } else if (broken.contains(name)) {
                  throw new StepException(name + " fails.");
                }
                run.append("log", name);
              })
          .compensate(name, run -> ran.add("undo " + name))
          .edge(name, END);
    }
    return new Driver(
        flow.reduce("log", Reducer.append())
            .fork(
                START,
                f -> policy.accept(f.branch("one").branch("two").join(END).collect("failures")))
            .compile());
  }

  @Test
  void withoutFailuresTheListIsEmpty() {
    assertThat(result(collecting(f -> {}).start()).path("failures"))
        .isEqualTo(Json.tree(List.of()));
  }

  @Test
  void allMayFailIfFailuresAreCollected() {
    broken.addAll(List.of("one", "two"));
    assertThat(result(collecting(f -> {}).start()).path("failures")).hasSize(2);
  }

  @Test
  void aQuorumThatCannotBeReachedAnyMoreFailsTheJoin() {
    broken.add("two");
    Driver talk = collecting(f -> f.quorum(2));
    Outcome stop = talk.start();
    assertThat(code(stop)).isEqualTo("join_failed");
    assertThat(failure(stop).message()).contains("Only 1 of the 2");
    assertThat(code(talk.proceed())).isEqualTo("join_failed");
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
  }

  @Test
  void aFailedJoinIsCuredByACorrectionInABranch() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .act(
                    "act",
                    run -> AskingTest.orThrow(new boolean[] {"bad".equals(run.state().a())}, ""))
                .fork(
                    START,
                    f -> f.branch("ask_a").branch("ask_b").join(END).quorum(2).collect("failures"))
                .edge("ask_a", "act")
                .edge("act", END)
                .edge("ask_b", END)
                .compile());
    talk.start();
    talk.proceed("b", "y");
    assertThat(code(talk.proceed("a", "bad"))).isEqualTo("join_failed");
    assertThat(talk.reset("a", "good")).isInstanceOf(Outcome.Complete.class);
  }

  // --- forks within forks ---------------------------------------------------------------------

  private Driver nested(Consumer<Branches> outer, Consumer<Branches> inner) {
    return new Driver(
        ask(ask(ask(talk(), "a"), "b"), "c")
            .act("begin", run -> work(run, "begin"))
            .act("fail", run -> work(run, "fail"))
            .act("inner", run -> work(run, "inner"))
            .reduce("log", Reducer.append())
            .fork(START, f -> outer.accept(f.branch("begin").branch("ask_c").join(END)))
            .fork("begin", f -> inner.accept(f.branch("ask_a").branch("ask_b").join("inner")))
            .edge("ask_a", "fail")
            .edge("fail", "inner")
            .edge("ask_b", "inner")
            .edge("inner", END)
            .edge("ask_c", END)
            .compile());
  }

  @Test
  void aForkWithinABranchJoinsBeforeTheBranchDoes() {
    Driver talk = nested(f -> {}, f -> {});
    assertThat(asked(talk.start())).containsExactly("a", "b", "c");
    talk.proceed("c", "z");
    talk.proceed("b", "y");
    assertThat(result(talk.proceed("a", "x")).path("log"))
        .isEqualTo(Json.tree(List.of("begin", "fail", "inner")));
    assertThat(talk.events(Event.Joined.class))
        .extracting(e -> e.place().node())
        .containsExactly("begin", START);
  }

  @Test
  void aFailureInItReachesTheForkAround() {
    broken.add("fail");
    Driver collected = nested(f -> f.collect("failures"), f -> {});
    collected.start();
    collected.proceed("a", "x");
    assertThat(asked(collected.settle())).containsExactly("c");
    assertThat(result(collected.proceed("c", "z")).at("/failures/0/branch").asText())
        .isEqualTo("begin");
    Driver fast = nested(Branches::failFast, f -> {});
    fast.start();
    assertThat(asked(fast.proceed("a", "x"))).containsExactly("b");
    broken.clear();
    assertThat(asked(fast.proceed())).containsExactly("b", "c");
  }

  @Test
  void droppingABranchDropsTheForkWithinIt() {
    Driver talk = nested(Branches::first, f -> {});
    talk.start();
    assertThat(talk.proceed("c", "z")).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.branches()).containsOnlyKeys("");
  }
}
