package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.fermata.flow.action.Run;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.route.Reducer;
import io.fermata.flow.schema.Computed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A flow that runs as a node of another, with a state of its own. */
class SubflowTest {
  record Inner(String name, Integer age, @Computed String line, List<String> log) {}

  private final List<String> ran = new ArrayList<>();
  private final boolean[] broken = {false};

  private FlowBuilder<Inner> inner() {
    return Flow.of("inner", Inner.class).description("Asks for an age.").result(Inner::line);
  }

  /** Asks for the age of somebody and makes a line of it. */
  private Flow<Inner> person() {
    return inner()
        .ask("ask_age", q -> q.question("age", p -> "How old is " + p.name() + "?", o -> {}))
        .act("note", this::note)
        .edge(START, "ask_age")
        .edge("ask_age", "note")
        .edge("note", END)
        .compile();
  }

  private void note(Run<Inner> run) {
    ran.add("note " + run.state().name());
    run.set(
        "line", run.state().name() + " is " + AskingTest.orThrow(broken, "" + run.state().age()));
  }

  /** Around the sub-flow a is asked first and b last. */
  private Driver around(Flow<Inner> flow, Consumer<Mount<Flows.Talk, Inner>> options) {
    return Flows.drive(
        ask(ask(talk(), "a"), "b")
            .act("before", run -> ran.add("before"))
            .subflow("sub", flow, options)
            .act("after", run -> ran.add("after " + run.state().c())),
        "ask_a",
        "before",
        "sub",
        "after",
        "ask_b");
  }

  private Driver person(Consumer<Mount<Flows.Talk, Inner>> options) {
    return around(person(), options);
  }

  private static void named(Mount<Flows.Talk, Inner> mount) {
    mount.input(talk -> Map.of("name", talk.a())).into("c");
  }

  // --- what goes in and comes out -------------------------------------------------------------

  @Test
  void itIsGivenValuesAndItsResultGoesToAField() {
    Driver talk = person(SubflowTest::named);
    Outcome pause = talk.start("a", "Ada");
    assertThat(((Outcome.Interrupt) pause).questions())
        .extracting(Event.Question::field, Event.Question::question)
        .containsExactly(tuple("sub.age", "How old is Ada?"));
    assertThat(asked(talk.proceed("sub.age", 36))).containsExactly("b");
    assertThat(ran).containsExactly("before", "note Ada", "after Ada is 36");
  }

  @Test
  void aQuestionForWhatItIsGivenIsAnsweredByThat() {
    Driver talk = person(m -> m.input(t -> Map.of("name", t.a(), "age", 36)).into("c"));
    assertThat(asked(talk.start("a", "Ada"))).containsExactly("b");
    assertThat(ran).contains("after Ada is 36");
  }

  @Test
  void itsLastStateMayBeMappedToFieldsAround() {
    Driver talk =
        person(
            m ->
                m.input(t -> Map.of("name", t.a()))
                    .output((t, s) -> Map.of("c", t.a() + "/" + s.line(), "number", s.age())));
    talk.start("a", "Ada");
    talk.proceed("sub.age", 36);
    assertThat(talk.state.data()).isEqualTo(object("a", "Ada", "c", "Ada/Ada is 36", "number", 36));
  }

  record Around(Part driver, String name) {}

  record Part(String name, Integer age) {}

  private static Driver mapped(Map<String, ?> values) {
    Flow<Around> inner =
        Flow.of("inner", Around.class)
            .description("Does nothing.")
            .act("act", run -> {})
            .edge(START, "act")
            .edge("act", END)
            .compile();
    Flow<Around> flow =
        Flow.of("around", Around.class)
            .description("Is around it.")
            .subflow("sub", inner, m -> m.input(s -> values).output((s, t) -> values))
            .<Around, Integer>forEach(
                "each", inner, e -> e.items(s -> List.of(1)).input((s, i) -> values).atMost(1))
            .edge(START, "sub")
            .edge("sub", "each")
            .edge("each", END)
            .compile();
    Driver driver = new Driver(flow);
    assertThat(driver.start()).isInstanceOf(Outcome.Complete.class);
    return driver;
  }

  @Test
  void whatGoesInAndComesOutIsTheSameInWhateverOrderItsMapIsIterated() {
    Driver one = mapped(Flows.overlapping(false));
    Driver other = mapped(Flows.overlapping(true));
    assertThat(other.journal).isEqualTo(one.journal);
    assertThat(other.state).isEqualTo(one.state);
    assertThat(one.state.data().at("/driver")).isEqualTo(object("age", 31, "name", "Bo"));
    assertThat(other.events(Event.Opened.class))
        .extracting(opened -> List.copyOf(opened.input().keySet()))
        .containsExactly(
            List.of("sub.driver", "sub.driver.age", "sub.name"),
            List.of("each.0.driver", "each.0.driver.age", "each.0.name"));
  }

  @Test
  void withoutMappingsNothingGoesInAndNothingComesOut() {
    Driver talk = person(m -> {});
    talk.start("a", "Ada");
    talk.proceed("sub.age", 36);
    assertThat(ran).containsExactly("before", "note null", "after null");
    assertThat(talk.state.data()).isEqualTo(object("a", "Ada"));
  }

  @Test
  void neitherSideSeesTheOthersState() {
    Flow<Inner> looks =
        inner()
            .act("look", run -> ran.add("inside " + run.state().name() + run.state().log()))
            .act("write", run -> run.set("name", "inside").append("log", "x"))
            .edge(START, "write")
            .edge("write", "look")
            .edge("look", END)
            .compile();
    around(looks, m -> {}).start("a", "Ada");
    assertThat(ran).containsExactly("before", "inside inside[x]", "after null");
  }

  @Test
  void itsStateIsGoneWhenItHasEnded() {
    Driver talk = person(SubflowTest::named);
    talk.start("a", "Ada");
    assertThat(talk.state.data().has("sub")).isTrue();
    talk.proceed("sub.age", 36);
    assertThat(talk.state.data().has("sub")).isFalse();
  }

  @Test
  void itsFieldsAreAnsweredAheadAndCheckedLikeOthers() {
    Driver talk = person(SubflowTest::named);
    assertThat(asked(talk.start("sub.age", 36))).containsExactly("a");
    assertThat(asked(talk.proceed("a", "Ada"))).containsExactly("b");
    Driver other = person(SubflowTest::named);
    assertThat(violated(other.start("sub", object("age", "old", "agee", 1, "line", "x"))))
        .containsExactlyInAnyOrder("sub.age", "sub.agee", "sub.line");
  }

  @Test
  void whatDoesNotFitItsStateStopsTheRunAtTheMount() {
    for (Map<String, ?> bad : List.<Map<String, ?>>of(Map.of("nmae", 1), Map.of("age", "old"))) {
      Driver talk = person(m -> m.input(t -> Map.copyOf(bad)));
      Outcome stop = talk.start("a", "Ada");
      assertThat(code(stop)).isEqualTo("step_failed");
      assertThat(failure(stop).message()).contains("sub");
    }
  }

  private Driver ranges() {
    Flow<AskingTest.Range> range =
        Flow.of("range", AskingTest.Range.class)
            .description("Takes a range.")
            .ask("ask", q -> q.question("low", "From?").question("high", "To?"))
            .act("book", run -> ran.add(run.state().low() + " to " + run.state().high()))
            .edge(START, "ask")
            .edge("ask", "book")
            .edge("book", END)
            .compile();
    return new Driver(
        ask(talk(), "a")
            .subflow(
                "trip", range, m -> m.input(t -> "low".equals(t.a()) ? Map.of("low", 5) : Map.of()))
            .<AskingTest.Range, Integer>forEach(
                "each",
                range,
                e ->
                    e.items(t -> List.of(5, 6))
                        .input((t, low) -> "each".equals(t.a()) ? Map.of("low", low) : Map.of())
                        .atMost(2))
            .edge(START, "ask_a")
            .edge("ask_a", "trip")
            .edge("trip", "each")
            .edge("each", END)
            .compile());
  }

  @Test
  void answersThatItsRecordRefusesTogetherAreViolationsBeforeAnyStepRuns() {
    Driver driver = ranges();
    assertThat(violated(driver.start("a", "x", "trip.low", 5, "trip.high", 3)))
        .containsExactly("trip.low, trip.high");
    driver.start("a", "x");
    Outcome refused = driver.proceed("trip.low", 5, "trip.high", 3);
    assertThat(code(refused)).isEqualTo("invalid_updates");
    assertThat(violated(refused)).containsExactly("trip.low, trip.high");
    assertThat(asked(driver.proceed("trip.low", 5))).containsExactly("trip.high");
    assertThat(violated(driver.proceed("trip.high", 3))).containsExactly("trip.high");
    driver.proceed("trip.high", 9);
    assertThat(violated(driver.proceed("each.1.low", 5, "each.1.high", 3)))
        .containsExactly("each.1.low, each.1.high");
    driver.proceed("each.1.low", 1, "each.1.high", 3);
    assertThat(violated(driver.reset("each.1.low", 4))).containsExactly("each.1.low");
    assertThat(driver.proceed("each.0.low", 1, "each.0.high", 2))
        .isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("5 to 9", "1 to 3", "1 to 2");
  }

  @Test
  void soAreThoseThatAreGivenAhead() {
    assertThat(violated(ranges().start("trip.low", 5, "trip.high", 3)))
        .containsExactly("trip.low, trip.high");
    assertThat(violated(ranges().start("each.1.low", 5, "each.1.high", 3)))
        .containsExactly("each.1.low, each.1.high");
  }

  @Test
  void anAnswerAheadThatItsRecordRefusesWithItsInputStopsTheRunAtTheMount() {
    Driver driver = ranges();
    assertThat(code(driver.start("a", "low", "trip.high", 3))).isEqualTo("step_failed");
    assertThat(ran).isEmpty();
    assertThat(asked(driver.reset("a", "x"))).containsExactly("trip.low");
    Driver list = ranges();
    list.start("a", "each", "each.1.high", 3);
    assertThat(code(list.proceed("trip.low", 1, "trip.high", 2))).isEqualTo("step_failed");
    assertThat(list.events(Event.Forked.class)).isEmpty();
  }

  @Test
  void whatComesOutAndDoesNotFitStopsTheRunAtItsEnd() {
    Driver talk = person(m -> m.output((t, s) -> Map.of("number", "many")));
    talk.start("a", "Ada");
    Outcome stopped = talk.proceed("sub.age", 36);
    assertThat(code(stopped)).isEqualTo("result_failed");
    assertThat(failure(stopped).message()).contains("could not build its result: sub. C");
    assertThat(code(talk.proceed())).isEqualTo("result_failed");
    assertThat(ran).containsExactly("before", "note null");
  }

  // --- pauses ---------------------------------------------------------------------------------

  private FlowBuilder<Flows.Talk> wrapped(String inside, Flow<?> flow) {
    return talk()
        .act(inside + "_before", run -> ran.add(inside + " before"))
        .act(inside + "_after", run -> ran.add(inside + " after"))
        .subflow(inside, flow, m -> {})
        .edge(START, inside + "_before")
        .edge(inside + "_before", inside)
        .edge(inside, inside + "_after")
        .edge(inside + "_after", END);
  }

  @Test
  void aPauseThreeLevelsDeepResumesThereAndRunsNothingOutsideAgain() {
    Driver talk =
        new Driver(
            wrapped("one", wrapped("two", wrapped("three", person()).compile()).compile())
                .compile());
    assertThat(asked(talk.start())).containsExactly("one.two.three.age");
    assertThat(ran).containsExactly("one before", "two before", "three before");
    assertThat(talk.events(Event.Asked.class))
        .extracting(e -> e.place().toString())
        .containsExactly("one/two/three/ask_age#1");
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(talk.proceed("one.two.three.age", 36)).isInstanceOf(Outcome.Complete.class);
    assertThat(ran.subList(3, ran.size()))
        .containsExactly("note null", "three after", "two after", "one after");
  }

  @Test
  void aWidgetASleepAndASignalWaitInsideAsTheyDoOutside() {
    Driver talk =
        around(
            inner()
                .widget("pick", w -> w.field("name"))
                .sleep("nap", Duration.ofHours(1))
                .waitFor("paid", "paid", "age")
                .act("note", this::note)
                .edge(START, "pick")
                .edge("pick", "nap")
                .edge("nap", "paid")
                .edge("paid", "note")
                .edge("note", END)
                .compile(),
            m -> m.into("c"));
    Outcome shown = talk.start("a", "x");
    assertThat(((Outcome.ShowWidget) shown).widget().field()).isEqualTo("sub.name");
    assertThat(code(talk.proceed("sub.name", "Ada"))).isEqualTo("waiting");
    assertThat(code(talk.pass())).isEqualTo("waiting");
    assertThat(asked(talk.signal("paid", 36))).containsExactly("b");
    assertThat(ran).contains("after Ada is 36");
  }

  // --- failures -------------------------------------------------------------------------------

  @Test
  void aFailedStepInsideIsTriedAgainAlone() {
    Driver talk = person(SubflowTest::named);
    broken[0] = true;
    talk.start("a", "Ada");
    assertThat(code(talk.proceed("sub.age", 36))).isEqualTo("step_failed");
    broken[0] = false;
    assertThat(asked(talk.proceed())).containsExactly("b");
    assertThat(ran).containsExactly("before", "note Ada", "note Ada", "after Ada is 36");
  }

  @Test
  void aResultThatCannotBeBuiltStopsAtTheEndOfTheSubFlow() {
    boolean[] bad = {true};
    Driver talk =
        around(
            Flow.of("inner", Inner.class)
                .description("Fails.")
                .act("work", run -> ran.add("work"))
                .edge(START, "work")
                .edge("work", END)
                .result(s -> AskingTest.orThrow(bad, "fine"))
                .compile(),
            m -> m.into("c"));
    assertThat(code(talk.start("a", "x"))).isEqualTo("result_failed");
    bad[0] = false;
    assertThat(asked(talk.proceed())).containsExactly("b");
    assertThat(ran).containsExactly("before", "work", "after fine");
  }

  // --- loops ----------------------------------------------------------------------------------

  @Test
  void aLoopOverASubFlowBeginsItAgainOnEveryPass() {
    Driver talk =
        new Driver(
            ask(talk(), "flag")
                .subflow("sub", person(), m -> m.input(t -> Map.of("name", "Ada")).into("c"))
                .act("log", run -> run.append("log", run.state().c()))
                .edge(START, "sub")
                .edge("sub", "log")
                .edge("log", "ask_flag")
                .decide("ask_flag", d -> d.when(eq("flag", true)).to("sub").otherwise(END))
                .compile());
    talk.start();
    talk.proceed("sub.age", 1);
    assertThat(asked(talk.proceed("flag", true))).containsExactly("sub.age");
    assertThat(asked(talk.proceed("sub.age", 1))).containsExactly("flag");
    assertThat(result(talk.proceed("flag", false)).path("log"))
        .isEqualTo(Json.tree(List.of("Ada is 1", "Ada is 1")));
    assertThat(talk.events(Event.Asked.class).stream().map(e -> e.place().toString()))
        .containsExactly("sub/ask_age#1", "ask_flag#1", "sub/ask_age#2", "ask_flag#2");
  }

  @Test
  void aLoopInsideRunsThereAndCountsAgainWithEveryPassOutside() {
    Flow<Inner> twice =
        inner()
            .act("step", run -> run.append("log", "x"))
            .edge(START, "step")
            .decide(
                "step",
                d -> d.when("again", Condition.visits("step").lt(2)).to("step").otherwise(END))
            .result(s -> String.join("", s.log()))
            .compile();
    Driver talk =
        new Driver(
            ask(talk(), "flag")
                .subflow("sub", twice, m -> m.into("c"))
                .act("log", run -> run.append("log", run.state().c()))
                .edge(START, "sub")
                .edge("sub", "log")
                .edge("log", "ask_flag")
                .decide("ask_flag", d -> d.when(eq("flag", true)).to("sub").otherwise(END))
                .compile());
    talk.start();
    talk.proceed("flag", true);
    assertThat(result(talk.proceed("flag", false)).path("log"))
        .isEqualTo(Json.tree(List.of("xx", "xx")));
  }

  // --- several of them ------------------------------------------------------------------------

  @Test
  void aFlowThatIsMountedTwiceKeepsItsStatesApart() {
    Flow<Inner> person = person();
    Driver talk =
        Flows.drive(
            talk()
                .subflow("one", person, m -> m.input(t -> Map.of("name", "Ada")).into("a"))
                .subflow("two", person, m -> m.input(t -> Map.of("name", "Bob")).into("b")),
            "one",
            "two");
    assertThat(asked(talk.start())).containsExactly("one.age");
    assertThat(asked(talk.proceed("one.age", 36))).containsExactly("two.age");
    assertThat(result(talk.proceed("two.age", 7)))
        .isEqualTo(object("a", "Ada is 36", "b", "Bob is 7"));
  }

  @Test
  void twoOfThemMayRunSideBySide() {
    Flow<Inner> person = person();
    Driver talk =
        new Driver(
            talk()
                .subflow("one", person, m -> m.input(t -> Map.of("name", "Ada")).into("a"))
                .subflow("two", person, m -> m.input(t -> Map.of("name", "Bob")).into("b"))
                .fork(START, f -> f.branch("one").branch("two").join(END))
                .edge("one", END)
                .edge("two", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("one.age", "two.age");
    assertThat(asked(talk.proceed("two.age", 7))).containsExactly("one.age");
    assertThat(result(talk.proceed("one.age", 36)))
        .isEqualTo(object("a", "Ada is 36", "b", "Bob is 7"));
  }

  @Test
  void aForkInsideJoinsInside() {
    Driver talk =
        around(
            inner()
                .ask("ask_name", q -> q.question("name", "Name?"))
                .ask("ask_age", q -> q.question("age", "Age?"))
                .act("note", this::note)
                .fork(START, f -> f.branch("ask_name").branch("ask_age").join("note"))
                .edge("ask_name", "note")
                .edge("ask_age", "note")
                .edge("note", END)
                .compile(),
            m -> m.into("c"));
    assertThat(asked(talk.start("a", "x"))).containsExactly("sub.name", "sub.age");
    talk.proceed("sub.age", 36);
    assertThat(asked(talk.proceed("sub.name", "Ada"))).containsExactly("b");
    assertThat(ran).contains("after Ada is 36");
  }

  @Test
  void aReducerInsideIsThatOfItsOwnFlow() {
    Driver talk =
        around(
            inner()
                .act("one", run -> run.append("log", "one"))
                .act("two", run -> run.append("log", "two"))
                .reduce("log", Reducer.append())
                .fork(START, f -> f.branch("one").branch("two").join(END))
                .edge("one", END)
                .edge("two", END)
                .result(s -> String.join(" ", s.log()))
                .compile(),
            m -> m.into("c"));
    talk.start("a", "x");
    assertThat(ran).contains("after one two");
  }

  // --- corrections ----------------------------------------------------------------------------

  @Test
  void anAnswerInsideIsCorrectedWhileTheSubFlowRuns() {
    Driver talk =
        around(
            inner()
                .ask("ask_name", q -> q.question("name", "Name?"))
                .act("note", this::note)
                .ask("ask_age", q -> q.question("age", "Age?"))
                .edge(START, "ask_name")
                .edge("ask_name", "note")
                .edge("note", "ask_age")
                .edge("ask_age", END)
                .compile(),
            m -> {});
    talk.start("a", "x", "sub.name", "Ada");
    assertThat(asked(talk.reset("sub.name", "Bob"))).containsExactly("sub.age");
    assertThat(ran).containsExactly("before", "note Ada", "note Bob");
  }

  @Test
  void anAnswerInsideIsCorrectedAfterTheSubFlowHasEnded() {
    Driver talk = person(SubflowTest::named);
    talk.start("a", "Ada");
    talk.proceed("sub.age", 3);
    assertThat(asked(talk.reset("sub.age", 36))).containsExactly("b");
    assertThat(ran)
        .containsExactly("before", "note Ada", "after Ada is 3", "note Ada", "after Ada is 36");
  }

  @Test
  void aCorrectionBeforeASubFlowBeginsItAgainWithTheAnswersGivenInIt() {
    Driver talk = person(SubflowTest::named);
    talk.start("a", "Ada");
    talk.proceed("sub.age", 36);
    assertThat(asked(talk.reset("a", "Bob"))).containsExactly("b");
    assertThat(ran).endsWith("note Bob", "after Bob is 36");
  }

  @Test
  void anAnswerInsideChangesOnlyByACorrection() {
    Driver talk = person(SubflowTest::named);
    talk.start("a", "Ada");
    talk.proceed("sub.age", 36);
    Outcome refused = talk.proceed("sub.age", 37);
    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(violated(refused)).containsExactly("sub.age");
  }

  // --- ends -----------------------------------------------------------------------------------

  @Test
  void anActionMayEndTheSubFlowAndTheFlowAroundContinues() {
    Driver talk =
        around(
            inner()
                .act("work", run -> run.set("line", "half").end("enough"))
                .ask("ask_age", q -> q.question("age", "Age?"))
                .edge(START, "work")
                .edge("work", "ask_age")
                .edge("ask_age", END)
                .compile(),
            m -> m.into("c"));
    assertThat(asked(talk.start("a", "x"))).containsExactly("b");
    assertThat(ran).containsExactly("before", "after half");
    Outcome end = talk.proceed("b", "y");
    assertThat(((Outcome.Complete) end).reason()).isNull();
  }

  @Test
  void anEmptyFlowMayBeMounted() {
    Driver talk =
        around(inner().edge(START, END).result(s -> "nothing").compile(), m -> m.into("c"));
    assertThat(asked(talk.start("a", "x"))).containsExactly("b");
    assertThat(ran).containsExactly("before", "after nothing");
  }

  @Test
  void aDecisionInsideLooksAtItsOwnState() {
    Driver talk =
        around(
            inner()
                .act("grown", run -> run.set("line", "grown"))
                .act("small", run -> run.set("line", "small"))
                .ask("ask_age", q -> q.question("age", "Age?"))
                .edge(START, "ask_age")
                .decide(
                    "ask_age",
                    d -> d.when("of age", Condition.gte("age", 18)).to("grown").otherwise("small"))
                .edge("grown", END)
                .edge("small", END)
                .compile(),
            m -> m.into("c"));
    talk.start("a", "x");
    talk.proceed("sub.age", 36);
    assertThat(ran).contains("after grown");
  }
}
