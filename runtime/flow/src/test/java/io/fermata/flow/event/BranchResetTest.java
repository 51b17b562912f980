package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Branches;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Corrections of what was answered before a fork, in one of its branches, and after it. */
class BranchResetTest {
  private final List<String> ran = new ArrayList<>();

  /** Asks for a; then for b and c side by side, each with an action behind it; then for a flag. */
  private Driver forked(Consumer<Branches> policy) {
    return new Driver(
        ask(ask(ask(ask(talk(), "a"), "b"), "c"), "flag")
            .act("act_b", run -> ran.add("b " + run.state().a() + run.state().b()))
            .act("act_c", run -> ran.add("c " + run.state().a() + run.state().c()))
            .ask("more_b", q -> q.question("number", "How many?"))
            .edge(START, "ask_a")
            .fork("ask_a", f -> policy.accept(f.branch("ask_b").branch("ask_c").join("ask_flag")))
            .edge("ask_b", "act_b")
            .edge("act_b", "more_b")
            .edge("more_b", "ask_flag")
            .edge("ask_c", "act_c")
            .edge("act_c", "ask_flag")
            .edge("ask_flag", END)
            .compile());
  }

  private Driver forked() {
    return forked(f -> {});
  }

  // --- while the branches run -----------------------------------------------------------------

  @Test
  void aCorrectionInABranchLeavesTheOthersWhereTheyAre() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("b", "2", "c", "3");
    assertThat(asked(talk.reset("b", "x"))).containsExactly("number");
    assertThat(ran).containsExactly("b 12", "c 13", "b 1x");
    assertThat(talk.events(Event.Reset.class).get(0).to())
        .extracting(back -> back.place().toString())
        .containsExactly("ask_a#1:ask_b|ask_b#2");
  }

  @Test
  void oneCallMayCorrectSeveralBranchesEachAlone() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("b", "2", "c", "3");
    assertThat(asked(talk.reset("b", "x", "c", "y"))).containsExactly("number");
    assertThat(ran).containsExactly("b 12", "c 13", "b 1x", "c 1y");
    talk.proceed("number", 7);
    assertThat(result(talk.proceed("flag", true)))
        .isEqualTo(object("a", "1", "b", "x", "c", "y", "number", 7, "flag", true));
  }

  @Test
  void anArrivedBranchIsGoneBackInAndArrivesAgain() {
    Driver talk = forked();
    talk.start("a", "1", "c", "3");
    assertThat(asked(talk.reset("c", Json.MAPPER.nullNode()))).containsExactly("b", "c");
    talk.proceed("b", "2", "number", 7);
    assertThat(talk.events(Event.Joined.class)).isEmpty();
    assertThat(asked(talk.proceed("c", "4"))).containsExactly("flag");
  }

  @Test
  void anAnswerThatOneBranchTookBackIsNotBroughtBackByTheOthers() {
    Driver talk = forked();
    talk.start("a", "1", "c", "3");
    talk.reset("c", Json.MAPPER.nullNode());
    assertThat(asked(talk.reset("a", "x"))).containsExactly("b", "c");
  }

  @Test
  void whatWasSaidInABranchThatTheJoinDroppedIsKeptForACorrection() {
    Driver talk = forked(Branches::first);
    talk.start("a", "1");
    talk.proceed("b", "2");
    assertThat(asked(talk.proceed("c", "3"))).containsExactly("flag");
    assertThat(asked(talk.reset("c", Json.MAPPER.nullNode()))).containsExactly("number", "c");
  }

  @Test
  void aValueThatWasReplacedInOneBranchIsNewAgainAlthoughOthersStillHaveIt() {
    Driver talk = forked();
    talk.start("a", "1", "number", 1);
    talk.proceed("number", 2);
    talk.proceed("number", 1);
    talk.proceed("b", "2", "c", "3");
    assertThat(talk.state.data().path("number").asInt()).isEqualTo(1);
  }

  @Test
  void aCorrectionBeforeTheForkForksAgainAndKeepsWhatWasSaidInTheBranches() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("b", "2");
    assertThat(asked(talk.reset("a", "x"))).containsExactly("number", "c");
    assertThat(ran).containsExactly("b 12", "b x2");
    assertThat(talk.events(Event.Forked.class)).hasSize(2);
    assertThat(talk.state.branches()).containsOnlyKeys("", "ask_a#2:ask_b", "ask_a#2:ask_c");
  }

  @Test
  void aCorrectionOfTheForkAndOfABranchGoesBackToTheFork() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("b", "2", "c", "3");
    assertThat(asked(talk.reset("b", "y", "a", "x"))).containsExactly("number");
    assertThat(ran).containsExactly("b 12", "c 13", "b xy", "c x3");
  }

  @Test
  void whatIsStillToBeAskedInABranchIsAnsweredAheadByACorrection() {
    Driver talk = forked();
    talk.start("a", "1");
    assertThat(asked(talk.reset("number", 7))).containsExactly("b", "c");
    assertThat(talk.events(Event.Reset.class)).isEmpty();
    assertThat(asked(talk.proceed("b", "2"))).containsExactly("c");
  }

  @Test
  void theResultOfAStepInABranchThatWasGoneBackInIsIgnored() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.feed(new Input.Continue(object("b", "2"), 5));
    StepEffect old = talk.pendingEffect();
    Input.Result late = talk.result(old);
    talk.feed(new Input.Reset(object("b", "x"), 6));
    talk.feed(new Input.EffectEnded(old, late, 7));
    assertThat(asked(talk.settle())).containsExactly("number", "c");
    assertThat(ran).containsExactly("b 12", "b 1x");
  }

  // --- after the join -------------------------------------------------------------------------

  @Test
  void afterTheJoinACorrectionGoesBackToTheForkAndKeepsTheOtherAnswers() {
    Driver talk = forked();
    talk.start("a", "1", "b", "2", "c", "3", "number", 7);
    assertThat(asked(talk.reset("c", "y"))).containsExactly("flag");
    assertThat(ran).containsExactly("b 12", "c 13", "b 12", "c 1y");
    assertThat(result(talk.proceed("flag", true)).path("c").asText()).isEqualTo("y");
  }

  @Test
  void answersThatCameWhileTheBranchesRanAreKeptToo() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("c", "3");
    talk.proceed("b", "2");
    assertThat(asked(talk.proceed("number", 7))).containsExactly("flag");
    assertThat(asked(talk.reset("b", "x"))).containsExactly("flag");
    assertThat(asked(talk.reset("a", "y"))).containsExactly("flag");
    assertThat(ran).containsExactly("c 13", "b 12", "b 1x", "c 13", "b yx", "c y3");
  }

  @Test
  void aCorrectionBehindTheJoinLeavesTheBranchesAlone() {
    Driver talk =
        new Driver(
            ask(ask(ask(ask(talk(), "a"), "b"), "c"), "flag")
                .fork(START, f -> f.branch("ask_a").branch("ask_b").join("ask_c"))
                .edge("ask_a", "ask_c")
                .edge("ask_b", "ask_c")
                .edge("ask_c", "ask_flag")
                .edge("ask_flag", END)
                .compile());
    talk.start("a", "1", "b", "2", "c", "3");
    assertThat(asked(talk.reset("c", "4"))).containsExactly("flag");
    assertThat(talk.events(Event.Forked.class)).hasSize(1);
  }

  @Test
  void aFieldThatNobodyAsksForGoesBackToTheBeginningFromWithinBranches() {
    Driver talk = forked();
    talk.start("a", "1");
    talk.proceed("b", "2");
    assertThat(asked(talk.reset("list", List.of("x")))).containsExactly("number", "c");
    assertThat(ran).containsExactly("b 12", "b 12");
    assertThat(talk.state.memory("ask_a#2:ask_c").data().path("list")).hasSize(1);
  }

  @Test
  void aJoinThatWasFirstMayComeOutOtherwise() {
    Driver talk = forked(Branches::first);
    talk.start("a", "1");
    assertThat(asked(talk.proceed("c", "3"))).containsExactly("flag");
    assertThat(asked(talk.reset("c", Json.MAPPER.nullNode()))).containsExactly("b", "c");
    talk.proceed("b", "2");
    assertThat(asked(talk.proceed("number", 7))).containsExactly("flag");
    assertThat(talk.state.data().has("c")).isFalse();
  }

  @Test
  void whatWasAnsweredInABranchChangesOnlyByACorrectionAfterTheJoinToo() {
    Driver talk = forked();
    talk.start("a", "1", "b", "2", "c", "3", "number", 7);
    assertThat(code(talk.proceed("b", "x"))).isEqualTo("already_answered");
    assertThat(asked(talk.proceed("b", "2"))).containsExactly("flag");
  }

  // --- forks within forks ---------------------------------------------------------------------

  private Driver nested() {
    return new Driver(
        ask(ask(ask(ask(talk(), "a"), "b"), "c"), "flag")
            .act("begin", run -> ran.add("begin"))
            .act("inner", run -> ran.add("inner"))
            .fork(START, f -> f.branch("begin").branch("ask_c").join("ask_flag"))
            .fork("begin", f -> f.branch("ask_a").branch("ask_b").join("inner"))
            .edge("ask_a", "inner")
            .edge("ask_b", "inner")
            .edge("inner", "ask_flag")
            .edge("ask_c", "ask_flag")
            .edge("ask_flag", END)
            .compile());
  }

  @Test
  void anInnerForkThatHasJoinedIsForkedAgainInItsBranchAlone() {
    Driver talk = nested();
    talk.start("a", "1");
    assertThat(asked(talk.proceed("b", "2"))).containsExactly("c");
    assertThat(asked(talk.reset("b", "x"))).containsExactly("c");
    assertThat(ran).containsExactly("begin", "inner", "inner");
    talk.proceed("c", "3");
    assertThat(result(talk.proceed("flag", true)))
        .isEqualTo(object("a", "1", "b", "x", "c", "3", "flag", true));
  }

  @Test
  void afterTheOuterJoinBothAreForkedAgain() {
    Driver talk = nested();
    talk.start("a", "1", "b", "2", "c", "3");
    assertThat(asked(talk.reset("b", "x"))).containsExactly("flag");
    assertThat(ran).containsExactly("begin", "inner", "begin", "inner");
    assertThat(talk.state.data()).isEqualTo(object("a", "1", "b", "x", "c", "3"));
  }
}
