package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.json.Json;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** People who are asked in several branches at once. */
class BranchPausesTest {
  private final List<String> ran = new ArrayList<>();

  /** A fork whose branches ask for a, b and c, the first after an action. */
  private FlowBuilder<Flows.Talk> three() {
    return ask(ask(ask(talk(), "a"), "b"), "c")
        .act("first", run -> ran.add("first"))
        .act("join", run -> ran.add("join"))
        .fork(START, f -> f.branch("first").branch("ask_b").branch("ask_c").join("join"))
        .edge("first", "ask_a")
        .edge("ask_a", "join")
        .edge("ask_b", "join")
        .edge("ask_c", "join")
        .edge("join", END);
  }

  private static Driver run(FlowBuilder<Flows.Talk> flow) {
    return new Driver(flow.compile());
  }

  // --- questions ------------------------------------------------------------------------------

  @Test
  void questionsOpenInSeveralBranchesAreOneInterruptInDeclaredOrder() {
    Outcome pause = run(three()).start();
    assertThat(pause).isInstanceOf(Outcome.Interrupt.class);
    assertThat(asked(pause)).containsExactly("a", "b", "c");
  }

  @Test
  void theContextsOfTheBranchesAreShownTogether() {
    Driver talk =
        run(
            talk()
                .ask("one", q -> q.question("a", "a?").context("Of one."))
                .ask("two", q -> q.question("b", "b?").context("Of two."))
                .fork(START, f -> f.branch("one").branch("two").join(END))
                .edge("one", END)
                .edge("two", END));
    assertThat(((Outcome.Interrupt) talk.start()).context()).isEqualTo("Of one.\nOf two.");
  }

  @Test
  void theyAreAnsweredOneByOneInAnyOrder() {
    Driver talk = run(three());
    talk.start();
    assertThat(asked(talk.proceed("b", "y"))).containsExactly("a", "c");
    assertThat(asked(talk.proceed("c", "z"))).containsExactly("a");
    assertThat(ran).containsExactly("first");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("first", "join");
  }

  @Test
  void orAllAtOnce() {
    Driver talk = run(three());
    talk.start();
    assertThat(talk.proceed("c", "z", "a", "x", "b", "y")).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("first", "join");
  }

  @Test
  void orAheadOfTime() {
    Driver talk = run(three());
    assertThat(asked(talk.start("a", "x", "c", "z"))).containsExactly("b");
  }

  @Test
  void aCallWithoutAnswersRepeatsAllOfThem() {
    Driver talk = run(three());
    talk.start();
    Outcome pause = talk.proceed("b", "y");
    int events = talk.journal.size();
    assertThat(talk.proceed()).isEqualTo(pause);
    assertThat(talk.journal).hasSize(events);
  }

  @Test
  void aSecondDeliveryOfAnAnswerChangesNothing() {
    Driver talk = run(three());
    talk.start();
    Outcome pause = talk.proceed("b", "y");
    int events = talk.journal.size();
    assertThat(talk.proceed("b", "y")).isEqualTo(pause);
    assertThat(talk.journal).hasSize(events);
  }

  @Test
  void anAnswerThatABranchHasBuiltOnChangesOnlyByACorrection() {
    Driver talk = run(three());
    talk.start();
    talk.proceed("b", "y");
    Outcome refused = talk.proceed("b", "other");
    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(violated(refused)).containsExactly("b");
    assertThat(asked(refused)).containsExactly("a", "c");
  }

  @Test
  void aBranchThatPausesDoesNotStopTheOthersFromWorking() {
    Driver talk =
        run(
            ask(talk(), "a")
                .act("one", run -> ran.add("one"), o -> o.retry(2, Duration.ofHours(1)))
                .sleep("nap", Duration.ofHours(1))
                .act("two", run -> ran.add("two"))
                .fork(START, f -> f.branch("ask_a").branch("one").join(END))
                .edge("ask_a", END)
                .edge("one", "nap")
                .edge("nap", "two")
                .edge("two", END));
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(ran).containsExactly("one");
    assertThat(asked(talk.pass())).containsExactly("a");
    assertThat(ran).containsExactly("one", "two");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  // --- validators -----------------------------------------------------------------------------

  private static Verdict notBad(String answer) {
    return answer.equals("bad") ? Verdict.reject("Bad.") : Verdict.accept(answer + "!");
  }

  private Driver validated(boolean async) {
    return run(
        ask(talk(), "b")
            .ask(
                "ask_a",
                q ->
                    q.question(
                        "a",
                        "a?",
                        o -> {
                          if (async) {
                            o.validateAsync(
                                (String a) -> CompletableFuture.completedStage(notBad(a)));
                          } else {
                            o.validate(BranchPausesTest::notBad);
                          }
                        }))
            .fork(START, f -> f.branch("ask_a").branch("ask_b").join(END))
            .edge("ask_a", END)
            .edge("ask_b", END));
  }

  @Test
  void aRejectionInOneBranchLeavesTheOthersAnswersStanding() {
    for (boolean async : List.of(true, false)) {
      Driver talk = validated(async);
      talk.start();
      Outcome refused = talk.proceed("a", "bad", "b", "y");
      assertThat(code(refused)).isEqualTo("answer_rejected");
      assertThat(violated(refused)).containsExactly("a");
      assertThat(asked(refused)).containsExactly("a");
      assertThat(Driver.result(talk.proceed("a", "good")))
          .isEqualTo(Driver.object("a", "good!", "b", "y"));
    }
  }

  @Test
  void aRejectionIsReportedOnceAndTheQuestionStaysOpen() {
    Driver talk = validated(false);
    talk.start();
    talk.proceed("a", "bad");
    assertThat(asked(talk.proceed("b", "y"))).containsExactly("a");
    assertThat(talk.settle()).isInstanceOf(Outcome.Interrupt.class);
  }

  // --- widgets --------------------------------------------------------------------------------

  private static FlowBuilder<Flows.Talk> parted(FlowBuilder<Flows.Talk> flow, String... heads) {
    for (String head : heads) {
      flow.edge(head, END);
    }
    return flow.fork(
        START,
        f -> {
          List.of(heads).forEach(f::branch);
          f.join(END);
        });
  }

  private static String tool(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.ShowWidget.class);
    return ((Outcome.ShowWidget) outcome).widget().tool();
  }

  @Test
  void widgetsInSeveralBranchesAreShownOneAfterTheOther() {
    Driver talk =
        run(
            parted(
                talk().widget("one", w -> w.field("a")).widget("two", w -> w.field("b")),
                "one",
                "two"));
    assertThat(tool(talk.start())).isEqualTo("one");
    assertThat(tool(talk.proceed())).isEqualTo("one");
    assertThat(tool(talk.proceed("a", "x"))).isEqualTo("two");
    assertThat(talk.proceed("b", "y")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetIsShownBeforeTheQuestionsOfOtherBranches() {
    Driver talk = run(parted(ask(talk(), "a").widget("pick", w -> w.field("b")), "ask_a", "pick"));
    assertThat(tool(talk.start())).isEqualTo("pick");
    assertThat(asked(talk.proceed("b", "y"))).containsExactly("a");
  }

  @Test
  void twoDisplaysAreEachAcknowledgedByACallOfTheirOwn() {
    Driver talk = run(parted(talk().widget("one", w -> {}).widget("two", w -> {}), "one", "two"));
    assertThat(tool(talk.start())).isEqualTo("one");
    assertThat(tool(talk.proceed())).isEqualTo("two");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  /** Beside a question, a display that comes up when a night has passed. */
  private static FlowBuilder<Flows.Talk> displayLater() {
    return ask(ask(talk(), "a").widget("one", w -> {}), "b")
        .sleep("night", Duration.ofHours(8))
        .fork(START, f -> f.branch("ask_a").branch("night").join("ask_b"))
        .edge("ask_a", "ask_b")
        .edge("night", "one")
        .edge("one", "ask_b")
        .edge("ask_b", END);
  }

  @Test
  void aDisplayThatNobodyHasSeenIsNotAcknowledgedByTheAnswerToSomethingElse() {
    Driver talk = run(displayLater());
    assertThat(asked(talk.start())).containsExactly("a");
    talk.pass();
    assertThat(tool(talk.proceed("a", "x"))).isEqualTo("one");
    assertThat(asked(talk.proceed())).containsExactly("b");
  }

  @Test
  void norByACallThatOnlyAsksWhereTheRunIs() {
    Driver talk = run(displayLater());
    talk.start();
    talk.pass();
    assertThat(tool(talk.proceed())).isEqualTo("one");
    assertThat(asked(talk.proceed())).containsExactly("a");
  }

  @Test
  void aDisplayThatWaitedBehindAnotherIsShownBeforeItIsAcknowledged() {
    Driver talk =
        run(
            parted(talk().widget("one", w -> {}).widget("two", w -> {}), "one", "two")
                .deadline("one", Duration.ofHours(1), END));
    assertThat(tool(talk.start())).isEqualTo("one");
    assertThat(tool(talk.pass())).isEqualTo("two");
    assertThat(tool(talk.proceed())).isEqualTo("two");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void theWidgetThatIsShownDoesNotChangeWhenAnEarlierBranchShowsOne() {
    Driver talk =
        run(
            talk()
                .sleep("nap", Duration.ofMinutes(1))
                .widget("one", w -> w.field("a"))
                .widget("two", w -> w.field("b"))
                .fork(START, f -> f.branch("nap").branch("two").join(END))
                .edge("nap", "one")
                .edge("one", END)
                .edge("two", END));
    assertThat(tool(talk.start())).isEqualTo("two");
    assertThat(tool(talk.pass())).isEqualTo("two");
    assertThat(tool(talk.proceed("b", "y"))).isEqualTo("one");
  }

  @Test
  void aDisplayInABranchSurvivesACrash() {
    Driver talk = run(displayLater());
    talk.start();
    talk.pass();
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(tool(talk.proceed("a", "x"))).isEqualTo("one");
  }

  // --- failures beside questions --------------------------------------------------------------

  @Test
  void aFailureIsReportedTogetherWithTheQuestionsOfTheOtherBranches() {
    boolean[] broken = {true};
    Driver talk =
        run(
            parted(
                ask(talk(), "a").act("one", run -> AskingTest.orThrow(broken, "")),
                "one",
                "ask_a"));
    Outcome stop = talk.start();
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(asked(stop)).containsExactly("a");
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("step_failed");
    assertThat(failure(talk.settle()).open()).isNull();
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
  }

  /** A branch may have paid, another asks and then acts. */
  private Driver paying() {
    Driver talk =
        run(
            ask(talk(), "a")
                .act("pay", run -> ran.add("pay"), o -> o.once())
                .act("then", run -> ran.add("then " + run.state().a()))
                .fork(START, f -> f.branch("pay").branch("ask_a").join(END))
                .edge("pay", END)
                .edge("ask_a", "then")
                .edge("then", END));
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    talk.crash(talk.journal.size());
    talk.recover();
    return talk;
  }

  @Test
  void anUnknownOutcomeInABranchHoldsOnlyThatBranch() {
    Driver talk = paying();
    Outcome stop = talk.proceed();
    assertThat(code(stop)).isEqualTo("outcome_unknown");
    assertThat(asked(stop)).containsExactly("a");
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("outcome_unknown");
    assertThat(ran).containsExactly("then x");
    assertThat(code(talk.proceed())).isEqualTo("outcome_unknown");
    assertThat(asked(talk.proceed())).isEmpty();
    assertThat(talk.resolve(Input.Resolution.RETRY)).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("then x", "pay");
  }

  @Test
  void aFailedStepIsTriedAgainWhileTheOutcomeOfAnotherBranchIsUnknown() {
    boolean[] broken = {true};
    Driver talk =
        run(
            parted(
                talk()
                    .act("pay", run -> {}, o -> o.once())
                    .act("fail", run -> AskingTest.orThrow(broken, "")),
                "pay",
                "fail"));
    talk.feed(new Input.Start("r", "i", Json.object(), 1));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
    broken[0] = false;
    assertThat(code(talk.proceed())).isEqualTo("outcome_unknown");
    assertThat(talk.events(Event.Arrived.class)).hasSize(1);
    assertThat(talk.resolve(Input.Resolution.SKIP)).isInstanceOf(Outcome.Complete.class);
  }
}
