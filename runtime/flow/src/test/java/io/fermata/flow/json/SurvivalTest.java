package io.fermata.flow.json;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.lt;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.Loads;
import io.fermata.flow.action.Run;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.route.Condition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What a run has to survive: length, depth, branches, other people, and receiving things twice. */
@Tag("slow")
class SurvivalTest {
  private static final int LONG = 10_000;

  private final List<String> ran = new ArrayList<>();

  private static Driver run(FlowBuilder<Flows.Talk> flow) {
    return new Driver(flow.compile(), Loads.ROOMY);
  }

  // --- length ---------------------------------------------------------------------------------

  private static void count(Run<Flows.Talk> run) {
    Integer n = run.get("number", Integer.class);
    run.set("number", n == null ? 1 : n + 1);
  }

  /** Counts in a loop of one step, and asks when it has counted so far. */
  private static FlowBuilder<Flows.Talk> loop(int steps) {
    return ask(talk(), "a")
        .act("count", SurvivalTest::count)
        .edge(START, "count")
        .decide("count", d -> d.when(lt("number", steps)).to("count").otherwise("ask_a"))
        .edge("ask_a", END);
  }

  /** As many steps, one after another. */
  private static FlowBuilder<Flows.Talk> line(int steps) {
    FlowBuilder<Flows.Talk> flow = ask(talk(), "a");
    List<String> nodes =
        new ArrayList<>(IntStream.range(0, steps).mapToObj(i -> "count" + i).toList());
    nodes.forEach(node -> flow.act(node, SurvivalTest::count));
    nodes.add("ask_a");
    return chain(flow, nodes.toArray(String[]::new));
  }

  private static FlowBuilder<Flows.Talk> inABranch(int steps) {
    return ask(ask(talk(), "a"), "b")
        .act("count", SurvivalTest::count)
        .fork(START, f -> f.branch("count").branch("ask_b").join(END))
        .decide("count", d -> d.when(lt("number", steps)).to("count").otherwise("ask_a"))
        .edge("ask_a", END)
        .edge("ask_b", END);
  }

  private static FlowBuilder<Flows.Talk> inASubflow(int steps) {
    return chain(
        talk()
            .subflow(
                "inner",
                loop(steps).compile(),
                m -> m.output((outer, inner) -> Map.of("number", inner.number()))),
        "inner");
  }

  private static List<String> written(List<Event> journal) {
    return journal.stream()
        .map(Json.MAPPER::<JsonNode>valueToTree)
        .map(JsonNode::toString)
        .toList();
  }

  /** The same run in a process that knows nothing but the journal. */
  private static Driver elsewhere(Driver run) {
    Driver other = new Driver(run.program.flow(), Loads.ROOMY);
    for (String event : written(run.journal)) {
      try {
        other.journal.add(Json.MAPPER.readValue(event, Event.class));
      } catch (JsonProcessingException e) {
        throw new AssertionError(e);
      }
    }
    other.now = run.now;
    other.crash(other.journal.size());
    other.recover();
    return other;
  }

  private static void survives(int steps, FlowBuilder<Flows.Talk> flow, Object... answers) {
    Driver before = run(flow);
    assertThat(asked(before.start())).hasSize(answers.length / 2);
    assertThat(before.performed).isEqualTo(steps);
    Driver after = elsewhere(before);
    assertThat(after.state).isEqualTo(before.state);
    assertThat(result(after.proceed(answers)).path("number").intValue()).isEqualTo(steps);
    assertThat(after.performed).as("steps that ran again").isZero();
  }

  @Test
  void aRunOfTenThousandStepsPausesAndContinuesFromItsJournal() {
    survives(LONG, loop(LONG), "a", "x");
  }

  @Test
  void soDoesOneInABranch() {
    survives(LONG, inABranch(LONG), "a", "x", "b", "y");
  }

  @Test
  void soDoesOneInASubflow() {
    survives(LONG, inASubflow(LONG), "inner.a", "x");
  }

  @Test
  void soDoesOneWhoseStepsAreAllDifferent() {
    survives(3_000, line(3_000), "a", "x");
  }

  @Test
  void aStepTakesNoMoreRoomInTheJournalHoweverManyWentBefore() {
    for (FlowBuilder<Flows.Talk> flow : List.of(loop(2_000), inABranch(2_000), line(2_000))) {
      Driver run = run(flow);
      run.start();
      List<Integer> sizes = written(run.journal).stream().map(String::length).toList();
      int early = sizes.subList(500, 1_000).stream().mapToInt(i -> i).sum();
      int late =
          sizes.subList(sizes.size() - 600, sizes.size() - 100).stream().mapToInt(i -> i).sum();
      assertThat((double) late / early).as("the journal of a later step").isBetween(0.9, 1.1);
    }
  }

  @Test
  void aPlaceIsNamedByWhereItIsAndNotByHowTheRunCameThere() {
    Driver run = run(inABranch(300));
    run.start();
    assertThat(run.state.places().keySet().stream().map(Place::toString))
        .containsExactlyInAnyOrder(
            "__start__#1", "__start__#1:count|ask_a#1", "__start__#1:ask_b|ask_b#1");
  }

  @Test
  void everyActionCommitsOnceAndNothingElseCommits() {
    Driver run = run(inABranch(300));
    run.start();
    run.proceed("a", "x", "b", "y");
    List<Place> committed = run.events(Event.Committed.class).stream().map(e -> e.place()).toList();
    assertThat(committed).hasSize(300).doesNotHaveDuplicates();
    assertThat(run.events(Event.Committed.class)).noneMatch(e -> e.writes().isEmpty());
  }

  // --- asking in loops ------------------------------------------------------------------------

  private Outcome approvedThrice(FlowBuilder<Flows.Talk> flow, String... expected) {
    Driver run = run(flow);
    Outcome pause = run.start();
    for (int pass = 0; pass < 3; pass++) {
      assertThat(asked(pause)).as("pass " + pass).containsExactly("a");
      run = elsewhere(run);
      pause = run.proceed("a", "approval " + pass);
    }
    assertThat(run.state.data().path("log")).isEqualTo(Json.tree(List.of(expected)));
    return pause;
  }

  private static void approve(Run<Flows.Talk> run) {
    run.append("log", String.valueOf(run.state().a()));
  }

  private static final String[] APPROVALS = {"approval 0", "approval 1", "approval 2"};

  @Test
  void aStepThatLoopsToItselfAsksOnEveryPass() {
    Outcome end =
        approvedThrice(
            ask(talk(), "a")
                .act("done", SurvivalTest::approve)
                .edge(START, "ask_a")
                .decide(
                    "ask_a",
                    d -> d.when(Condition.visits("ask_a").lt(3)).to("ask_a").otherwise("done"))
                .edge("done", END),
            "approval 2");
    assertThat(end).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void soDoesAStepInALoopBackToAnEarlierOne() {
    Outcome end =
        approvedThrice(
            ask(talk(), "a")
                .act("work", run -> ran.add("work " + run.visit()))
                .act("done", SurvivalTest::approve)
                .edge(START, "work")
                .edge("work", "ask_a")
                .edge("ask_a", "done")
                .decide(
                    "done", d -> d.when(Condition.visits("done").lt(3)).to("work").otherwise(END)),
            APPROVALS);
    assertThat(end).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("work 1", "work 2", "work 3");
  }

  @Test
  void soDoesAStepThatADecisionLeadsTo() {
    Outcome end =
        approvedThrice(
            ask(talk(), "a")
                .act("work", run -> ran.add("work " + run.visit()))
                .act("done", SurvivalTest::approve)
                .edge(START, "work")
                .decide(
                    "work", d -> d.when(Condition.visits("work").lt(4)).to("ask_a").otherwise(END))
                .edge("ask_a", "done")
                .edge("done", "work"),
            APPROVALS);
    assertThat(end).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).hasSize(4).doesNotHaveDuplicates();
  }

  // --- branches -------------------------------------------------------------------------------

  private FlowBuilder<Flows.Talk> threeAsked() {
    return ask(ask(ask(talk(), "a"), "b"), "c")
        .edge("ask_a", END)
        .edge("ask_b", END)
        .edge("ask_c", END);
  }

  @Test
  void aQuorumWaitsForNoMoreBranchesThanItSaysEvenIfAllArriveAtOnce() {
    Driver run =
        run(
            threeAsked()
                .fork(
                    START,
                    f -> f.branch("ask_a").branch("ask_b").branch("ask_c").quorum(2).join(END)));
    run.start();
    Outcome end = run.proceed("a", "x", "b", "y", "c", "z");
    assertThat(result(end)).isEqualTo(Driver.object("a", "x", "b", "y"));
    assertThat(run.events(Event.Joined.class).get(0).dropped()).containsExactly("ask_c");
  }

  @Test
  void theFirstOfTwoBranchesThatArriveAtOnceIsOne() {
    Driver run =
        run(
            talk()
                .sleep("one", Duration.ZERO)
                .sleep("two", Duration.ZERO)
                .fork(START, f -> f.branch("one").branch("two").first().join(END))
                .edge("one", END)
                .edge("two", END));
    run.start();
    assertThat(run.events(Event.Joined.class).get(0).merged()).containsExactly("one");
  }

  @Test
  void anEarlyEndInABranchEndsTheRunWhateverTheOthersDo() {
    Driver run =
        run(
            ask(talk(), "a")
                .act("one", r -> r.append("log", "one").end("Enough."))
                .act("join", r -> ran.add("join"))
                .fork(START, f -> f.branch("ask_a").branch("one").join("join"))
                .edge("ask_a", "join")
                .edge("one", "join")
                .edge("join", END));
    Outcome end = run.start();
    assertThat(end).isInstanceOf(Outcome.Complete.class);
    assertThat(((Outcome.Complete) end).reason()).isEqualTo("Enough.");
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("one")));
    assertThat(ran).isEmpty();
  }

  @Test
  void anEarlyEndIsNotOvertakenByWhatHappensAfterIt() {
    Driver run =
        run(
            ask(ask(talk(), "a"), "b")
                .act("held", r -> {})
                .act("ends", r -> r.end("Enough."))
                .act("goes", r -> {})
                .compensate("held", r -> {})
                .act("inner", r -> {})
                .fork(START, f -> f.branch("inner").branch("ends").branch("goes").first().join(END))
                .fork("inner", f -> f.branch("held").branch("ask_a").first().join("ask_b"))
                .edge("held", "ask_b")
                .edge("ask_a", "ask_b")
                .edge("ask_b", END)
                .edge("ends", END)
                .edge("goes", END));
    run.feed(new Input.Start("run", "to test", Json.object(), run.now++));
    end(run, "inner");
    run.feed(new Input.Continue(Driver.object("a", "x"), run.now++));
    assertThat(run.state.undoing()).as("undone while the rest goes on").isNotEmpty();
    end(run, "ends");
    end(run, "goes");
    Outcome end = run.settle();
    assertThat(((Outcome.Complete) end).reason()).isEqualTo("Enough.");
  }

  /** The action of a node ends now, and not before. */
  private static void end(Driver run, String node) {
    Program.Perform<StepEffect> perform = (Program.Perform<StepEffect>) run.program.next(run.state);
    StepEffect effect =
        perform.effects().stream()
            .filter(e -> e.place().node().equals(node))
            .findFirst()
            .orElseThrow();
    run.feed(new Input.EffectEnded(effect, run.result(effect), run.now++));
  }

  @Test
  void aCorrectionDoesNotGoBackIntoWhatBranchedOffInABranchThatWasAbandoned() {
    Driver run =
        run(
            ask(ask(talk(), "a"), "b")
                .act("inner", r -> {})
                .act("fails", r -> AskingTest.orThrow(new boolean[] {true}, ""))
                .fork(START, f -> f.branch("inner").branch("ask_b").collect("failures").join(END))
                .fork("inner", f -> f.branch("ask_a").branch("fails").join("rest"))
                .act("rest", r -> {})
                .edge("ask_a", "fails_not")
                .act("fails_not", r -> {})
                .edge("fails_not", "rest")
                .edge("fails", "rest")
                .edge("rest", END)
                .edge("ask_b", END));
    assertThat(asked(run.start("a", "x"))).containsExactly("b");
    assertThat(asked(run.reset("a", "y"))).containsExactly("b");
    assertThat(run.state.branches().keySet()).hasSize(3);
  }

  // --- undoing --------------------------------------------------------------------------------

  @Test
  void aCorrectionIsTakenWhileTheWorkOfADroppedBranchIsUndone() {
    Driver run =
        run(
            ask(ask(talk(), "a"), "b")
                .act("held", r -> {})
                .compensate("held", r -> AskingTest.orThrow(new boolean[] {true}, ""))
                .fork(START, f -> f.branch("held").branch("ask_a").first().join("ask_b"))
                .edge("held", "ask_b")
                .edge("ask_a", "ask_b")
                .edge("ask_b", END));
    run.feed(new Input.Start("run", "to test", Json.object(), run.now++));
    assertThat(code(run.proceed("a", "x"))).isEqualTo("compensation_failed");
    assertThat(code(run.reset("a", "y"))).isEqualTo("compensation_failed");
    assertThat(run.events(Event.Reset.class)).hasSize(1);
  }

  @Test
  void aCompensationThatTakesTooLongMayBeTakenAsDoneLikeOneThatFails() {
    Driver run =
        run(
            chain(
                ask(talk(), "a").act("book", r -> {}).compensate("book", r -> {}),
                "book",
                "ask_a"));
    run.start();
    run.feed(new Input.Cancel(run.now++));
    StepEffect undo = run.pendingEffect();
    run.feed(new Input.EffectEnded(undo, run.program.timedOut(undo), run.now++));
    assertThat(code(run.resolve(Input.Resolution.SKIP))).isEqualTo("run_cancelled");
  }
}
