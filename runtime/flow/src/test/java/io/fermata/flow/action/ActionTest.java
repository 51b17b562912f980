package io.fermata.flow.action;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Retry;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Tagging;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.route.Condition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What actions see, write and break, and how often they run. */
class ActionTest {
  private final List<String> ran = new ArrayList<>();

  // --- writing --------------------------------------------------------------------------------

  @Test
  void anActionReadsWhatItHasWritten() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> {
                      run.set("a", "x").append("log", "one").append("log", "two");
                      run.merge("notes", Map.of("k", "v")).merge("notes", Map.of("l", "w"));
                      run.set("notes.m", "y").set("b", "gone").delete("b").set("c", null);
                      run.set("computed", run.state().a() + run.state().log());
                    }),
            "write");
    assertThat(result(talk.start()))
        .isEqualTo(
            Driver.object(
                "a",
                "x",
                "log",
                List.of("one", "two"),
                "notes",
                Map.of("k", "v", "l", "w", "m", "y"),
                "computed",
                "x[one, two]"));
  }

  @Test
  void anActionThatDeclaresWhatItReadsSeesOnceWhatItAppended() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> {
                      run.append("log", "one");
                      run.set("computed", run.state().log() + "");
                    },
                    o -> o.reads("log")),
            "write");
    assertThat(result(talk.start()).path("computed").textValue()).isEqualTo("[one]");
  }

  @Test
  void whatAnActionReadsMayBeDeclaredOneByOne() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> run.set("computed", run.state().a() + run.state().b()),
                    o -> o.reads("a").reads("b")),
            "write");
    assertThat(result(talk.start("a", "x", "b", "y")).path("computed").textValue()).isEqualTo("xy");
  }

  @Test
  void anActionThatDeclaresAPartOfAGroupDoesNotReadTheGroup() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> {
                      run.get("address.city", String.class);
                      run.get("address", Flows.Address.class);
                    },
                    o -> o.reads("address.city")),
            "write");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(talk.events(Event.Stopped.class).get(0).detail())
        .contains("Step write#1 does not declare that it reads address");
  }

  @Test
  void aMergeWritesTheFieldsThatItNamesAndNoOthers() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run ->
                        run.set("address", new Flows.Address("Via", "Rom"))
                            .merge("address", Map.of("city", "Rome"))
                            .merge("notes", Map.of("k", "v"))),
            "write");
    assertThat(result(talk.start()))
        .isEqualTo(
            Driver.object("address", new Flows.Address("Via", "Rome"), "notes", Map.of("k", "v")));
    assertThat(talk.events(Event.Committed.class).get(0).writes())
        .extracting(Write::verb, Write::path)
        .containsExactly(
            tuple(Write.Verb.SET, "address"),
            tuple(Write.Verb.SET, "address.city"),
            tuple(Write.Verb.MERGE, "notes"));
  }

  @Test
  void aMergeOfAnEmptyObjectMakesOne() {
    Driver talk = drive(talk().act("write", run -> run.merge("notes", Map.of())), "write");
    assertThat(result(talk.start())).isEqualTo(Driver.object("notes", Map.of()));
  }

  @Test
  void halfOfASurrogatePairWhichNoJournalCanHoldIsReplaced() throws Exception {
    String half = "\ud83d";
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> {
                      run.set("a", half).append("log", half).merge("notes", Map.of(half, half));
                      run.set("b", TextNode.valueOf("\ud83d\ude00" + half));
                      run.emit(half, List.of(half)).tag(half).end(half);
                    }),
            "write");
    talk.start();
    String journal = Json.MAPPER.writeValueAsString(talk.journal);
    assertThat(journal).contains("\ufffd").isEqualTo(Texts.sound(journal));
    assertThat(talk.state.data())
        .isEqualTo(
            Driver.object(
                "a",
                "\ufffd",
                "log",
                List.of("\ufffd"),
                "notes",
                Map.of("\ufffd", "\ufffd"),
                "b",
                "\ud83d\ude00\ufffd"));
  }

  @Test
  void anActionKnowsItsRun() {
    Driver talk =
        drive(
            talk()
                .act(
                    "act",
                    run -> ran.addAll(List.of(run.intent(), run.id(), run.idempotencyKey()))),
            "act");
    talk.start();
    assertThat(ran).containsExactly("to test", "run-1", "run-1/act#1");
  }

  @Test
  void aStepThatRunsAgainAfterACorrectionIsStillInItsFirstPass() {
    Driver talk =
        drive(
            ask(
                ask(talk(), "a")
                    .act("pay", run -> ran.add("pass " + run.visit()))
                    .compensate("pay", run -> ran.add("undo " + run.undoes())),
                "b"),
            "ask_a",
            "pay",
            "ask_b");
    talk.start("a", "1");
    assertThat(asked(talk.reset("a", "2"))).containsExactly("b");
    assertThat(ran).containsExactly("pass 1", "undo run-1/pay#1", "pass 1");
  }

  @Test
  void aFailedStepIsStillInItsFirstPassAfterACorrection() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "pay",
                    run -> {
                      ran.add("pass " + run.visit());
                      if (run.state().a().equals("1")) {
                        throw new StepException("Not so few.");
                      }
                    }),
            "ask_a",
            "pay");
    assertThat(code(talk.start("a", "1"))).isEqualTo("step_failed");
    assertThat(talk.reset("a", "2")).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("pass 1", "pass 1");
  }

  @Test
  void aPassIsCountedAsInAConditionInABranchToo() {
    Driver talk =
        new Driver(
            ask(talk(), "b")
                .act("one", run -> ran.add("pass " + run.visit()))
                .act("two", run -> {})
                .act("after", run -> {})
                .edge(START, "ask_b")
                .fork("ask_b", f -> f.branch("one").branch("two").join("after"))
                .edge("one", "after")
                .edge("two", "after")
                .decide(
                    "after", d -> d.when(Condition.visits("one").lt(3)).to("ask_b").otherwise(END))
                .compile());
    talk.start("b", "1");
    talk.proceed("b", "2");
    assertThat(talk.proceed("b", "3")).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("pass 1", "pass 2", "pass 3");
  }

  @Test
  void anUnknownFieldIsAFailureThatNamesItToTheOperatorOnly() {
    Driver talk = drive(talk().act("write", run -> run.set("computd", "x")), "write");
    Outcome.Failure failed = failure(talk.start());
    assertThat(failed.code()).isEqualTo("step_failed");
    assertThat(failed.message()).doesNotContain("computd");
    assertThat(talk.events(Event.Stopped.class).get(0).detail())
        .contains("There is no field computd; did you mean computed?");
  }

  @Test
  void anExceptionThatFailsToSayItsMessageIsAFailureThatNamesItsClass() {
    class Mute extends RuntimeException {
      private static final long serialVersionUID = 1;

      @Override
      public String getMessage() {
        throw new IllegalStateException("nothing to say");
      }
    }
    List<Driver> failing =
        List.of(
            drive(
                talk()
                    .act(
                        "write",
                        run -> {
                          throw new Mute();
                        }),
                "write"),
            drive(
                talk()
                    .computes(
                        "write",
                        "computed",
                        t -> {
                          throw new Mute();
                        }),
                "write"));
    for (Driver talk : failing) {
      assertThat(code(talk.start())).isEqualTo("step_failed");
      assertThat(talk.events(Event.Stopped.class).get(0).detail()).isEqualTo(Mute.class.getName());
    }
  }

  @Test
  void aValueThatDoesNotFitItsFieldIsAFailureThatCommitsNothing() {
    for (Object unfit : List.of("five", 1.5, "5", List.of())) {
      Driver talk =
          drive(talk().act("write", run -> run.set("a", "x").set("number", unfit)), "write");
      assertThat(code(talk.start())).isEqualTo("step_failed");
      assertThat(talk.state.data()).isEmpty();
    }
  }

  @Test
  void aFailedActionCommitsNothing() {
    Driver talk =
        drive(
            talk()
                .act(
                    "write",
                    run -> {
                      run.set("a", "x");
                      throw new IllegalStateException("secret path /etc");
                    }),
            "write");
    Outcome.Failure failed = failure(talk.start());
    assertThat(failed.message())
        .isEqualTo(
            "A step of the flow failed: write. Continue without stateUpdates to try that step"
                + " again.");
    assertThat(talk.state.data()).isEmpty();
    assertThat(talk.events(Event.Stopped.class).get(0).detail()).contains("secret path");
  }

  @Test
  void theMessageOfAStepExceptionIsForTheClientWithTheNextStep() {
    Driver talk =
        drive(
            talk()
                .act(
                    "act",
                    run -> {
                      throw new StepException("We are closed that day.");
                    }),
            "act");
    assertThat(failure(talk.start()).message())
        .isEqualTo("We are closed that day. Continue without stateUpdates to try that step again.");
  }

  @Test
  void aStageMayFailLikeACall() {
    Driver talk =
        drive(
            talk()
                .actAsync(
                    "act",
                    run ->
                        CompletableFuture.supplyAsync(
                            () -> {
                              throw new StepException("Closed.");
                            })),
            "act");
    assertThat(failure(talk.start()).message())
        .isEqualTo("Closed. Continue without stateUpdates to try that step again.");
  }

  @Test
  @SuppressWarnings("NullAway") // what an author without a null checker may do
  void anActionWithoutAStageOrWithAnErrorFailsLikeAnyOther() {
    Driver none = drive(talk().actAsync("act", run -> null), "act");
    assertThat(code(none.start())).isEqualTo("step_failed");
    Driver error =
        drive(
            talk()
                .act(
                    "act",
                    run -> {
                      throw new AssertionError("not yet implemented");
                    }),
            "act");
    assertThat(code(error.start())).isEqualTo("step_failed");
  }

  @Test
  void aHandleThatIsKeptBeyondItsStepIsRefused() {
    List<Run<Flows.Talk>> kept = new ArrayList<>();
    drive(talk().act("good", kept::add), "good").start();
    drive(
            talk()
                .act(
                    "bad",
                    run -> {
                      kept.add(run);
                      throw new IllegalStateException();
                    }),
            "bad")
        .start();
    assertThat(kept)
        .hasSize(2)
        .allSatisfy(
            run ->
                assertThatThrownBy(() -> run.set("a", "x"))
                    .isInstanceOf(IllegalStateException.class));
  }

  // --- once each ------------------------------------------------------------------------------

  @Test
  void continueRetriesTheFailedStepAlone() {
    boolean[] broken = {true};
    Driver talk =
        drive(
            ask(talk(), "a")
                .act("one", run -> ran.add("one"))
                .act("two", run -> ran.add("two " + AskingTest.orThrow(broken, "ok"))),
            "ask_a",
            "one",
            "two");
    assertThat(code(talk.start("a", "x"))).isEqualTo("step_failed");
    assertThat(code(talk.proceed())).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("one", "two ok");
  }

  @Test
  void aPauseDoesNotRunTheStepBeforeItAgain() {
    Driver talk = drive(ask(talk().act("one", run -> ran.add("one")), "a"), "one", "ask_a");
    talk.start();
    talk.proceed();
    talk.proceed("a", "x");
    assertThat(ran).containsExactly("one");
  }

  @Test
  void aTerminalFailureIsNotRetriedAndAnyOtherIs() {
    Driver terminal = drive(failing(StepException.terminal("There is not enough.")), "act");
    assertThat(failure(terminal.start()).message())
        .isEqualTo("There is not enough. Continue without stateUpdates to try that step again.");
    assertThat(terminal.events(Event.AttemptFailed.class)).isEmpty();
    assertThat(terminal.events(Event.Stopped.class))
        .extracting(Event.Stopped::detail)
        .containsExactly(
            "not retried: " + StepException.class.getName() + ": There is not enough.");

    Driver plain = drive(failing(new StepException("The bank is closed.")), "act");
    plain.start();
    assertThat(plain.events(Event.AttemptFailed.class)).hasSize(2);
  }

  private static FlowBuilder<Flows.Talk> failing(StepException failure) {
    return talk()
        .act(
            "act",
            run -> {
              throw failure;
            },
            o -> o.retry(3, Duration.ofSeconds(1)));
  }

  @Test
  void retriesWaitTwiceAsLongEachTime() {
    Driver talk =
        drive(
            talk()
                .act(
                    "act",
                    run -> {
                      ran.add("attempt " + run.attempt());
                      AskingTest.orThrow(new boolean[] {run.attempt() < 4}, "");
                    },
                    o -> o.retry(4, Duration.ofSeconds(10))),
            "act");
    assertThat(talk.start()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("attempt 1", "attempt 2", "attempt 3", "attempt 4");
    List<Long> waits = new ArrayList<>();
    List<Event.Attempted> attempts = talk.events(Event.Attempted.class);
    for (int i = 1; i < attempts.size(); i++) {
      waits.add((attempts.get(i).at() - attempts.get(i - 1).at()) / 1_000);
    }
    assertThat(waits).containsExactly(10L, 20L, 40L);
  }

  @Test
  void theDoublingHasABound() {
    Retry retry = new Retry(100, Duration.ofSeconds(1), Duration.ofSeconds(30));
    assertThat(retry.after(1)).isEqualTo(Duration.ofSeconds(1));
    assertThat(retry.after(5)).isEqualTo(Duration.ofSeconds(16));
    assertThat(retry.after(6)).isEqualTo(Duration.ofSeconds(30));
    assertThat(retry.after(99)).isEqualTo(Duration.ofSeconds(30));
    assertThat(Retry.of(2, Duration.ofHours(1)).after(1)).isEqualTo(Duration.ofHours(1));
  }

  @Test
  void anExplicitRetryHasAllAttemptsAgain() {
    Driver talk =
        drive(
            talk()
                .act(
                    "act",
                    run -> {
                      ran.add("x");
                      throw new IllegalStateException();
                    },
                    o -> o.retry(3, Duration.ZERO)),
            "act");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    assertThat(ran).hasSize(3);
    assertThat(code(talk.proceed())).isEqualTo("step_failed");
    assertThat(ran).hasSize(6);
  }

  @Test
  void aResultThatComesLateOrTwiceIsIgnored() {
    Driver talk = drive(ask(talk().act("act", run -> run.append("log", "x")), "a"), "act", "ask_a");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect effect = talk.pendingEffect();
    Input.EffectEnded ended = new Input.EffectEnded(effect, talk.result(effect), 2);
    talk.feed(ended);
    int events = talk.journal.size();
    talk.feed(ended);
    talk.feed(new Input.EffectDue(effect, 3));
    assertThat(talk.journal).hasSize(events);
    assertThat(talk.state.data()).isEqualTo(Driver.object("log", List.of("x")));
  }

  @Test
  void aWaitingRetryIgnoresALateFailureAndTakesALateSuccess() {
    Driver talk =
        drive(
            talk().act("act", run -> run.set("a", "x"), o -> o.retry(2, Duration.ofHours(1))),
            "act");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect effect = talk.pendingEffect();
    Input.Result success = talk.result(effect);
    talk.feed(new Input.EffectDue(effect, 2));
    assertThat(talk.events(Event.Attempted.class)).as("not due while it runs").hasSize(1);
    talk.feed(new Input.EffectEnded(effect, talk.program.timedOut(effect), 3));
    RunState waiting = talk.state;
    talk.feed(
        new Input.EffectEnded(
            effect, talk.program.failed(effect, new IllegalStateException("late")), 4));
    assertThat(talk.state).isSameAs(waiting);
    talk.feed(new Input.EffectEnded(effect, success, 5));
    assertThat(talk.state.status()).isEqualTo(RunState.Status.COMPLETED);
  }

  // --- crashes --------------------------------------------------------------------------------

  @Test
  void anAttemptThatACrashInterruptedIsMadeAgainWithTheSameKeyAndAHigherNumber() {
    Driver talk =
        drive(talk().act("act", run -> ran.add(run.idempotencyKey() + " " + run.attempt())), "act");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    talk.result(talk.pendingEffect());
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(talk.settle()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("r/act#1 1", "r/act#1 2");
  }

  @Test
  void aWaitForTheNextAttemptSurvivesACrash() {
    Driver talk =
        drive(
            talk()
                .act(
                    "act",
                    run -> AskingTest.orThrow(new boolean[] {run.attempt() == 1}, ""),
                    o -> o.retry(2, Duration.ofMinutes(1))),
            "act");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect first = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(first, talk.result(first), 1_000));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(talk.pendingEffect().due()).isEqualTo(61_000);
    assertThat(talk.settle()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void recoveringTwiceInARowIsHarmlessForWhatPauses() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    Outcome pause = talk.start();
    int events = talk.journal.size();
    talk.recover();
    talk.recover();
    assertThat(talk.journal).hasSize(events);
    assertThat(talk.settle()).isEqualTo(pause);
  }

  // --- once -----------------------------------------------------------------------------------

  private Driver onceUnderWay() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act("pay", run -> run.set("computed", "paid " + ran.add("pay")), o -> o.once())
                .ask("ask_b", q -> q.question("b", "b?")),
            "ask_a",
            "pay",
            "ask_b");
    talk.feed(new Input.Start("r", "i", Driver.object("a", "x"), 1));
    return talk;
  }

  private Driver onceInterrupted() {
    Driver talk = onceUnderWay();
    talk.result(talk.pendingEffect());
    talk.crash(talk.journal.size());
    talk.recover();
    return talk;
  }

  @Test
  void anInterruptedOnceStepIsNeverRepeatedByItself() {
    Driver talk = onceInterrupted();
    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
    assertThat(code(talk.proceed())).isEqualTo("outcome_unknown");
    assertThat(code(talk.proceed("b", "y"))).isEqualTo("outcome_unknown");
    assertThat(code(talk.reset("a", "y"))).isEqualTo("outcome_unknown");
    talk.recover();
    assertThat(ran).hasSize(1);
  }

  @Test
  void onlyADecisionRepeatsIt() {
    Driver talk = onceInterrupted();
    assertThat(asked(talk.resolve(Input.Resolution.RETRY))).containsExactly("b");
    assertThat(ran).hasSize(2);
    assertThat(talk.state.data().path("computed").asText()).isEqualTo("paid true");
  }

  @Test
  void orTakesItAsDone() {
    Driver talk = onceInterrupted();
    assertThat(asked(talk.resolve(Input.Resolution.SKIP))).containsExactly("b");
    assertThat(ran).hasSize(1);
    assertThat(talk.state.data().has("computed")).isFalse();
    assertThat(code(talk.resolve(Input.Resolution.RETRY))).isEqualTo("nothing_to_resolve");
  }

  @Test
  void aStepThatWasTakenAsDoneIsNotPassedByACorrection() {
    Driver talk = onceInterrupted();
    talk.resolve(Input.Resolution.SKIP);
    assertThat(code(talk.reset("a", "y"))).isEqualTo("reset_past_once");
  }

  @Test
  void aCorrectionDoesNotOvertakeAOnceStepThatIsInFlight() {
    Driver talk = onceUnderWay();
    Outcome refused = talk.call(new Input.Reset(Driver.object("a", "y"), 2));
    assertThat(code(refused)).isEqualTo("reset_past_once");
    assertThat(asked(talk.settle())).containsExactly("b");
    assertThat(ran).hasSize(1);
  }

  @Test
  void aTimeoutLeavesTheOutcomeOfAOnceStepUnknown() {
    Driver talk = onceUnderWay();
    StepEffect effect = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(effect, talk.program.timedOut(effect), 2));
    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
  }

  @Test
  void aFailureOfAOnceStepIsKnownAndMayBeRetried() {
    boolean[] broken = {true};
    Driver talk =
        drive(talk().act("pay", run -> AskingTest.orThrow(broken, ""), o -> o.once()), "pay");
    assertThat(code(talk.start())).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aOnceStepWhoseWritesCannotBeKeptIsNotRepeatedEither() {
    Driver talk =
        drive(
            talk()
                .act(
                    "pay",
                    run -> {
                      ran.add("pay");
                      run.set("number", "unfit");
                    },
                    o -> o.once()),
            "pay");
    assertThat(code(talk.start())).isEqualTo("outcome_unknown");
    assertThat(code(talk.proceed())).isEqualTo("outcome_unknown");
    assertThat(ran).hasSize(1);
    assertThat(talk.resolve(Input.Resolution.SKIP)).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aTimeoutOfAnotherStepIsAFailureThatContinueRetries() {
    Driver talk = drive(talk().act("act", run -> ran.add("x")), "act");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect effect = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(effect, talk.program.timedOut(effect), 2));
    assertThat(failure(talk.settle()).code()).isEqualTo("step_timeout");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  // --- calls meanwhile ------------------------------------------------------------------------

  @Test
  void aCallThatComesWhileAStepIsInFlightDoesNotStartItAgain() {
    Driver talk = drive(ask(talk().act("act", run -> ran.add("x")), "a"), "act", "ask_a");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect effect = talk.pendingEffect();
    talk.feed(new Input.Continue(Driver.object("a", "early"), 2));
    assertThat(talk.pendingEffect()).isEqualTo(effect);
    assertThat(talk.settle()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).hasSize(1);
  }

  @Test
  void aResultAfterTheCancellationIsRefused() {
    Driver talk = drive(talk().act("act", run -> ran.add("x")), "act");
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    StepEffect effect = talk.pendingEffect();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
    talk.feed(
        new Input.EffectEnded(
            effect, new Input.Wrote(List.of(), List.of(), List.of(), Tagging.NONE, null), 3));
    assertThat(talk.state.status()).isEqualTo(RunState.Status.CANCELLED);
    assertThat(Objects.requireNonNull(talk.state.places())).isEmpty();
  }
}
