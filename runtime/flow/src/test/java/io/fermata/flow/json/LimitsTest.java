package io.fermata.flow.json;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import java.time.Duration;
import java.util.Map;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;

/** The bounds of a run. */
class LimitsTest {
  private static final Limits SMALL = new Limits(100, 20, 5, 32);

  private int ran;

  /** Acts over and over, until the flow ends it after so many times. */
  private Flow<Flows.Talk> spinning(int times) {
    return talk()
        .act("act", run -> ran++)
        .edge(START, "act")
        .decide("act", d -> d.when("enough", s -> ran >= times).to(END).otherwise("act"))
        .compile();
  }

  @Test
  void oneCallEntersOnlySoManyNodesAndTheNextContinues() {
    Driver talk = new Driver(spinning(8), SMALL);
    Outcome.Failure bounded = failure(talk.start());
    assertThat(bounded.code()).isEqualTo("visit_limit");
    assertThat(bounded.message()).contains("(5)");
    assertThat(ran).isEqualTo(5);
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).isEqualTo(8);
  }

  @Test
  void aStepThatFailedIsReportedBeforeABranchThatTheNextCallContinues() {
    Flow<Flows.Talk> both =
        talk()
            .fork(START, f -> f.branch("act").branch("fail").join("done"))
            .act("act", run -> ran++)
            .act(
                "fail",
                run -> {
                  throw new IllegalStateException("no");
                })
            .act("done", run -> {})
            .decide("act", d -> d.when("enough", s -> ran >= 50).to("done").otherwise("act"))
            .edge("fail", "done")
            .edge("done", END)
            .compile();

    assertThat(code(new Driver(both, SMALL).start())).isEqualTo("step_failed");
  }

  @Test
  void aLoopThatPausesInEachRoundContinuesForEver() {
    Flow<Many> asking =
        Flow.of("many", Many.class)
            .description("Asks again and again.")
            .ask("ask", q -> q.question("name", "Which?"))
            .decide("ask", d -> d.when("last", eq("name", "last")).to(END).otherwise("ask"))
            .edge(START, "ask")
            .compile();
    Driver talk = new Driver(asking, SMALL);
    talk.start();
    for (int i = 0; i < 3 * SMALL.visitsPerRun(); i++) {
      assertThat(talk.proceed("name", "n" + i)).isInstanceOf(Outcome.Interrupt.class);
    }
    assertThat(talk.proceed("name", "last")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aLoopThatSleepsInEachRoundContinuesForEver() {
    Flow<Many> napping =
        Flow.of("many", Many.class)
            .description("Sleeps again and again.")
            .sleep("nap", Duration.ofHours(1))
            .decide("nap", d -> d.when(visits("nap").gte(60)).to(END).otherwise("nap"))
            .edge(START, "nap")
            .compile();
    Driver talk = new Driver(napping, SMALL);
    Outcome last = talk.start();
    for (int i = 0; i < 70 && last instanceof Outcome.Waiting; i++) {
      last = talk.pass();
    }
    assertThat(last).isInstanceOf(Outcome.Complete.class);
  }

  private void turns(Driver talk, IntFunction<Outcome> round) {
    Outcome last = talk.start();
    for (int i = 0; i < 70 && !(last instanceof Outcome.Complete); i++) {
      last = round.apply(i);
    }
    assertThat(last).isInstanceOf(Outcome.Complete.class);
  }

  /** Visits the node sixty times. */
  private static Flow<Many> turning(FlowBuilder<Many> flow, String node) {
    return flow.decide(node, d -> d.when(visits(node).gte(60)).to(END).otherwise(node))
        .edge(START, node)
        .compile();
  }

  private static FlowBuilder<Many> many() {
    return Flow.of("many", Many.class).description("Waits again and again.");
  }

  @Test
  void aLoopThatWaitsForASignalInEachRoundContinuesForEver() {
    Driver talk = new Driver(turning(many().waitFor("wait", "go"), "wait"), SMALL);
    turns(talk, i -> talk.signal("go", null));
  }

  @Test
  void aLoopThatWaitsForADeadlineInEachRoundContinuesForEver() {
    Flow<Many> late =
        turning(
            many()
                .waitFor("wait", "go")
                .deadline("wait", Duration.ofHours(1), "late")
                .computes("late", s -> Map.of())
                .edge("late", "wait"),
            "wait");
    Driver talk = new Driver(late, SMALL);
    talk.start();
    for (int i = 0; i < 2 * SMALL.visitsPerRun(); i++) {
      assertThat(code(talk.pass())).isEqualTo("waiting");
    }
  }

  @Test
  void aLoopThatShowsAWidgetWithoutAFieldInEachRoundContinuesForEver() {
    Driver talk = new Driver(turning(many().widget("show", w -> w.tool("list")), "show"), SMALL);
    turns(talk, i -> talk.proceed());
  }

  @Test
  void aLoopThatPassesAnOptionalQuestionInEachRoundContinuesForEver() {
    Driver talk =
        new Driver(
            turning(many().ask("ask", n -> n.question("name", "Which?", q -> q.optional())), "ask"),
            SMALL);
    turns(talk, i -> talk.proceed());
  }

  record Many(String name) {}

  @Test
  void oneRunEntersOnlySoManyNodes() {
    Driver talk = new Driver(spinning(1_000), SMALL);
    talk.start();
    for (int i = 0; i < 3; i++) {
      assertThat(code(talk.proceed())).isEqualTo(i < 2 ? "visit_limit" : "run_limit");
    }
    int before = ran;
    assertThat(code(talk.proceed())).isEqualTo("run_limit");
    assertThat(ran).isEqualTo(before).isEqualTo(20);
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
  }

  @Test
  void anAnswerThatMakesTheStateTooLargeIsNotApplied() {
    Driver talk = new Driver(chain(ask(talk(), "a", "b"), "ask_a").compile(), SMALL);
    talk.start("a", "x");
    RunState before = talk.state;
    Outcome refused = talk.proceed("b", "y".repeat(100));
    assertThat(code(refused)).isEqualTo("state_too_large");
    assertThat(asked(refused)).containsExactly("b");
    assertThat(talk.state).isSameAs(before);
    assertThat(code(talk.reset("a", "y".repeat(100)))).isEqualTo("state_too_large");
    assertThat(talk.state).isSameAs(before);
    assertThat(talk.proceed("b", "y")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aStartThatIsTooLargeStartsNothing() {
    Driver talk = new Driver(chain(ask(talk(), "a"), "ask_a").compile(), SMALL);
    assertThat(code(talk.start("a", "y".repeat(100)))).isEqualTo("state_too_large");
    assertThat(talk.state.running()).isFalse();
  }

  @Test
  void anActionThatMakesTheStateTooLargeCommitsNothing() {
    int[] size = {200};
    Driver talk =
        new Driver(
            chain(talk().act("act", run -> run.set("a", "y".repeat(size[0]))), "act").compile(),
            SMALL);
    assertThat(code(talk.start())).isEqualTo("state_too_large");
    assertThat(talk.state.data()).isEmpty();
    size[0] = 5;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aVerdictThatMakesTheStateTooLargeIsAFailureOfTheValidator() {
    Driver talk =
        new Driver(
            chain(
                    talk()
                        .ask(
                            "ask",
                            q ->
                                q.question(
                                    "a",
                                    "a?",
                                    o -> o.validate((String a) -> Verdict.accept(a.repeat(200))))),
                    "ask")
                .compile(),
            SMALL);
    assertThat(code(talk.start("a", "x"))).isEqualTo("validator_failed");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
  }

  @Test
  void aLimitIsAtLeastOne() {
    assertThatThrownBy(() -> new Limits(0, 1, 1, 1)).hasMessage("Every limit must be at least 1");
  }
}
