package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.action.Validator;
import io.fermata.flow.event.Retry;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.route.Decision;
import io.fermata.flow.route.When;
import io.fermata.flow.schema.Computed;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What compile refuses, and in which words. */
class FlowDefectsTest {
  record Driver(String name, @Computed Integer score) {}

  record Trip(String city, Driver driver, @Computed Integer price, List<String> stops) {}

  @Test
  void aSoundFlowCompiles() {
    assertThat(sound().compile().id()).isEqualTo("trip");
  }

  @Test
  void oneExceptionListsEveryDefect() {
    InvalidFlowException refusal =
        catchThrowableOfType(
            InvalidFlowException.class,
            () ->
                Flow.of("Trip!", Trip.class)
                    .version(0)
                    .ask("ask_city", q -> q.question("citty", "Where to?"))
                    .act("lost", run -> {})
                    .edge(START, "ask_city")
                    .edge("ask_city", "ask_ctiy")
                    .compile());

    assertThat(refusal.defects())
        .containsExactly(
            "The flow's id \"Trip!\" is not 1 to 64 of a-z, 0-9, _ and -; it becomes the name of a"
                + " tool",
            "The flow has no description; a model needs one to know when to use it",
            "The flow's version is 0; count from 1",
            "Node ask_city asks for citty, which the state does not have; did you mean city?",
            "Node ask_city leads to ask_ctiy, but there is no such node; did you mean ask_city?",
            "Node lost is a dead end; lead it to another node or to END",
            "Node lost can never be reached from START",
            "END can never be reached from START; lead some node to it");
    assertThat(refusal).hasMessageContaining("8 defects");
    refusal.defects().forEach(defect -> assertThat(refusal).hasMessageContaining(defect));
  }

  @Test
  void aSingleDefectIsNotCalledSeveral() {
    assertThatThrownBy(() -> sound().version(0).compile())
        .hasMessageStartingWith("Flow trip has a defect:\n  - ");
  }

  @Test
  void aDecisionMayNotLeadToAnUnknownNode() {
    assertRefused(
        flow()
            .act("a", run -> {})
            .edge(START, "a")
            .decide("a", d -> d.when("far", s -> true).to("b").otherwise(END)),
        "Node a leads to b, but there is no such node; did you mean a?");
  }

  @Test
  void anEdgeMayNotComeFromAnUnknownNode() {
    assertRefused(
        sound().edge("ask_cities", END),
        "There is a way out of ask_cities, but no such node; did you mean ask_city?");
  }

  @Test
  void nothingMayLeadToStart() {
    assertRefused(
        flow().act("a", run -> {}).edge(START, "a").edge("a", START),
        "Node a leads to START; lead to the first node instead");
  }

  @Test
  void startNeedsAWayOut() {
    assertRefused(
        flow().act("a", run -> {}).edge("a", END),
        "Nothing leads out of START; add an edge from START to the first node");
  }

  @Test
  void aLoopThatCanNeitherPauseNorEndIsRefused() {
    assertRefused(
        flow()
            .ask("ask_city", q -> q.question("city", "Where to?"))
            .act("a", run -> {})
            .act("b", run -> {})
            .edge(START, "ask_city")
            .decide("ask_city", d -> d.when("far", s -> true).to("a").otherwise(END))
            .edge("a", "b")
            .edge("b", "a"),
        "The loop a → b can neither pause nor end; lead out of it, or ask somebody in it");
  }

  @Test
  void aLoopThatPausesOrHasAWayOutIsFine() {
    flow()
        .ask("ask_city", q -> q.question("city", "Where to?"))
        .act("a", run -> {})
        .edge(START, "ask_city")
        .decide("ask_city", d -> d.when("far", s -> true).to("a").otherwise(END))
        .decide("a", d -> d.when("again", s -> true).to("a").otherwise("ask_city"))
        .compile();
  }

  @Test
  void aQuestionNeedsAFieldThatTheClientMayWrite() {
    assertRefused(
        flow()
            .ask("a", q -> q.question("price", "How much?").question("driver.score", "How good?"))
            .edge(START, "a")
            .edge("a", END),
        "Node a asks for price, which is computed; ask for another field, or remove @Computed",
        "Node a asks for driver.score, which is computed; ask for another field, or remove"
            + " @Computed");
  }

  @Test
  void aComputedFieldExistsOrIsBelowAMap() {
    assertRefused(
        flow()
            .computes("a", "prise", trip -> 1)
            .computes("b", "driver.total", trip -> 1)
            .edge(START, "a")
            .edge("a", "b")
            .edge("b", END),
        "Node a computes prise, which the state does not have; did you mean price?",
        "Node b computes driver.total, which the state does not have; its fields are city,"
            + " driver, driver.name, driver.score, price, stops");
    flow().computes("a", "driver.score", t -> 1).edge(START, "a").edge("a", END).compile();
  }

  @Test
  void aWidgetNeedsAFieldThatExists() {
    assertRefused(
        flow().widget("a", w -> w.field("driver.nam")).edge(START, "a").edge("a", END),
        "Node a asks for driver.nam, which the state does not have; did you mean driver.name?");
  }

  @Test
  void aWidgetNeedsADisplayToolWithAName() {
    assertRefused(
        flow().widget("a", w -> w.tool("no tool")).edge(START, "a").edge("a", END),
        "Node a names the display tool \"no tool\", which is no tool name");
  }

  @Test
  void aNodeMayBeDeclaredOnlyOnce() {
    assertRefused(
        sound().act("ask_city", run -> {}),
        "Node ask_city is declared twice; give one of them another name");
  }

  @Test
  void someNamesAreReserved() {
    assertRefused(
        flow()
            .act(START, run -> {})
            .act("end", run -> {})
            .act("two words", run -> {})
            .edge(START, "end")
            .edge("end", "two words")
            .edge("two words", END),
        "Node __start__ has a reserved name; choose another",
        "Node end has a reserved name; choose another",
        "Node \"two words\" is not named with 1 to 64 letters, digits, _ and -");
  }

  @Test
  void aNodeHasOneWayOut() {
    assertRefused(
        sound().edge("ask_city", END),
        "Node ask_city has two ways out; use one edge, or one decision between them");
  }

  @Test
  void aDecisionNeedsRulesWithTargetsAndAnOtherwise() {
    String defect =
        "The decision after a needs at least one rule, a target for each, and an otherwise; add"
            + " what is missing";
    assertRefused(decision(d -> d.when("far", s -> true).to(END)), defect);
    assertRefused(decision(d -> d.otherwise(END)), defect);
    assertRefused(
        decision(
            d -> {
              When<Decision> unfinished = d.when("far", s -> true);
              assertThat(unfinished).isNotNull();
              d.when("near", s -> true).to(END).otherwise(END);
            }),
        defect);
  }

  @Test
  void anAskNodeAsksSomethingAndNothingTwice() {
    assertRefused(
        flow().ask("a", q -> {}).edge(START, "a").edge("a", END),
        "Node a asks no question; add one, or remove the node");
    assertRefused(
        flow()
            .ask(
                "a",
                q ->
                    q.question("city", "Where to?")
                        .question("city", "Where to?")
                        .question("driver", "Who drives?")
                        .question("driver.name", "Who drives?"))
            .edge(START, "a")
            .edge("a", END),
        "Node a asks twice for city; ask once for each field",
        "Node a asks twice for driver.name; ask once for each field");
  }

  private enum Size {
    SMALL,
    LARGE
  }

  private enum Term {
    SHORT(12),
    LONG(24);

    private final int months;

    Term(int months) {
      this.months = months;
    }

    @JsonValue
    int months() {
      return months;
    }
  }

  record Shirt(
      Size size, Term rented, @Min(18) Integer age, @Pattern(regexp = "[A-Z]+") String code) {}

  private static FlowBuilder<Shirt> suggesting(String field, String... answers) {
    return Flow.of("shirt", Shirt.class)
        .description("Sells a shirt.")
        .ask("a", q -> q.question(field, "Which?", o -> o.suggest(answers)))
        .edge(START, "a")
        .edge("a", END);
  }

  @Test
  void aSuggestionIsWhatAnAnswerCouldBe() {
    assertThat(suggesting("size", "SMALL", "LARGE").compile()).isNotNull();
    assertThat(suggesting("age", "18", "60").compile()).isNotNull();
    assertRefused(
        suggesting("size", "HUGE"),
        "The suggestion for size in a, \"HUGE\", does not fit the field: it must be one of SMALL,"
            + " LARGE, not \"HUGE\"");
    assertThat(suggesting("rented", "12", "24").compile()).isNotNull();
    assertRefused(
        suggesting("rented", "13"),
        "The suggestion for rented in a, 13, does not fit the field: it must be one of 12, 24, not"
            + " 13");
    assertThat(defects(suggesting("age", "3", "many")))
        .hasSize(2)
        .allMatch(defect -> defect.startsWith("The suggestion for age in a"));
    assertThat(defects(suggesting("code", "abc"))).hasSize(1);
  }

  @Test
  void aSleepEndsAfterItHasBegun() {
    assertRefused(
        flow().sleep("rest", Duration.ofSeconds(-1)).edge(START, "rest").edge("rest", END),
        "Node rest sleeps for PT-1S; give it a time that can pass, or none");
  }

  @Test
  void aFieldCannotBeAPrimitive() {
    record Primitive(int seats, Driver driver) {}
    assertThat(
            defects(
                Flow.of("p", Primitive.class)
                    .description("p")
                    .ask("a", q -> q.question("driver.name", "Who?"))
                    .edge(START, "a")
                    .edge("a", END)))
        .containsExactly(
            "Field seats is a primitive int and could never be unanswered; use its wrapper type");
  }

  @Test
  void aFieldNameHasNoDot() {
    record Dotted(@JsonProperty("a.b") String ab) {}
    assertThat(defects(single(Dotted.class)))
        .containsExactly("Field a.b: a name must not contain a dot");
  }

  record Tree(String name, Tree left) {}

  record Forest(String name, List<Forest> trees) {}

  record Hidden(String name, @Computed Hidden inner, JsonNode any) {}

  @Test
  void aStateMayNotContainItself() {
    for (Class<? extends Record> recursive : List.of(Tree.class, Forest.class)) {
      assertThat(defects(single(recursive)))
          .containsExactly(
              "State "
                  + recursive.getSimpleName()
                  + " contains itself, which its schema cannot express; make the inner part a"
                  + " JsonNode");
    }
    assertThat(single(Hidden.class).compile().updatesSchema().path("properties").fieldNames())
        .toIterable()
        .containsExactly("name", "any");
  }

  @Test
  void whatPeopleReadOrSignalMustNotBeEmpty() {
    assertRefused(
        flow()
            .title(" ")
            .ask("a", q -> q.question("city", ""))
            .waitFor("b", "")
            .edge(START, "a")
            .edge("a", "b")
            .edge("b", END),
        "The flow's title is empty; name it for people, or leave it out",
        "Node a asks for city without words; give the question a text",
        "Node b waits for a signal without a name; name it");
  }

  @Test
  void policiesMustNotContradictThemselves() {
    assertRefused(
        flow()
            .act("a", run -> {}, o -> o.once().retry(3, Duration.ofSeconds(1)))
            .act("b", run -> {}, o -> o.once().idempotent().timeout(Duration.ZERO))
            .ask(
                "c",
                q ->
                    q.question(
                        "city",
                        "Where to?",
                        e ->
                            e.validateAsync(
                                (String city) -> CompletableFuture.completedStage(Verdict.accept()),
                                o -> o.timeout(Duration.ofSeconds(-1)))))
            .edge(START, "a")
            .edge("a", "b")
            .edge("b", "c")
            .edge("c", END),
        "Node a is both once and retried; choose one",
        "Node b has the timeout PT0S; give it a time that can pass",
        "Node b is both once and idempotent; choose one",
        "The validator of city in c has the timeout PT-1S; give it a time that can pass");
  }

  @Test
  void anExpiryMustBeAbleToPass() {
    assertRefused(
        sound().expireAfter(Duration.ZERO), "expireAfter is PT0S; give it a time that can pass");
  }

  @Test
  void noTimeIsLongerThanAThousandYears() {
    Duration forever = ChronoUnit.FOREVER.getDuration();
    Duration millis = Duration.ofMillis(Long.MAX_VALUE);
    assertRefused(
        sound()
            .act(
                "pay",
                run -> {},
                options ->
                    options.timeout(millis).retry(new Retry(2, Duration.ofSeconds(1), forever)))
            .sleep("rest", forever)
            .deadline("ask_city", millis, "pay")
            .remind("ask_city", millis, 2, run -> {})
            .expireAfter(millis),
        "expireAfter is " + millis + "; give it at most 365000 days",
        "Node pay has the timeout " + millis + "; give it at most 365000 days",
        "Node pay is tried again after " + forever + "; give it at most 365000 days",
        "Node rest sleeps for " + forever + "; give it at most 365000 days",
        "The deadline of ask_city is after " + millis + "; give it at most 365000 days",
        "The reminders of ask_city are every " + millis + "; give it at most 365000 days");
    assertRefused(
        sound().expireAfter(forever),
        "expireAfter is " + forever + "; give it at most 365000 days");
    assertThat(sound().expireAfter(Duration.ofDays(365_000)).compile().expiry()).isNotNull();
  }

  @Test
  void anotherNameOfAFlowIsCheckedAsItsOwn() {
    assertThat(sound().compile().named("tour").id()).isEqualTo("tour");
    for (String name : new String[] {"", "A Tour", "a".repeat(65)}) {
      assertThatThrownBy(() -> sound().compile().named(name))
          .isInstanceOf(InvalidFlowException.class)
          .hasMessageContaining("The flow's id \"" + name + "\" is not 1 to 64");
    }
  }

  @Test
  void aSecondValidatorIsRefusedAsItWouldReplaceTheFirst() {
    Validator<String> any = answer -> Verdict.accept();
    assertRefused(
        flow().ask("ask", q -> q.question("city", "Where to?", o -> o.validate(any).validate(any))),
        "The question for city in node ask has two validators; check everything in one");
    assertRefused(
        flow()
            .ask(
                "ask",
                q ->
                    q.question(
                        "city",
                        "Where to?",
                        o ->
                            o.validate(any)
                                .<String>validateAsync(
                                    answer ->
                                        CompletableFuture.completedFuture(Verdict.accept())))),
        "The question for city in node ask has two validators; check everything in one");
    assertRefused(
        flow().widget("map", w -> w.field("city").validate(any).validate(any)),
        "Node map has two validators; check everything in one");
  }

  @Test
  void aSecondTargetThatWouldReplaceTheFirstIsRefused() {
    assertRefused(
        decision(d -> d.when("far", s -> true).to("a").otherwise("a").otherwise(END)),
        "The decision after a has two targets for otherwise; keep one");
    assertRefused(
        flow()
            .select(
                "e",
                f ->
                    f.when("far", s -> true)
                        .to("a")
                        .otherwise("b")
                        .otherwise("c")
                        .join("d")
                        .join(END)),
        "The fork after e has two branches for otherwise; keep one",
        "The fork after e has two joins; keep one");
  }

  @Test
  void aQuorumOfNoneIsRefusedAndNotTakenForAll() {
    assertThatThrownBy(() -> flow().fork(START, f -> f.branch("a").join("b").quorum(0)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "A quorum of 0 waits for no branch; give at least 1, or leave it out to wait for all");
    assertThatThrownBy(
            () ->
                flow().<Trip, String>forEach("each", sound().compile(), e -> e.atMost(3).quorum(0)))
        .hasMessageContaining("A quorum of 0");
  }

  private static FlowBuilder<Trip> flow() {
    return Flow.of("trip", Trip.class).description("Plans a trip.");
  }

  private static FlowBuilder<Trip> sound() {
    return flow()
        .ask("ask_city", q -> q.question("city", "Where to?"))
        .edge(START, "ask_city")
        .edge("ask_city", END);
  }

  private static FlowBuilder<Trip> decision(Consumer<Decision> rules) {
    return flow().act("a", run -> {}).edge(START, "a").decide("a", rules);
  }

  private static <S extends Record> FlowBuilder<S> single(Class<S> state) {
    return Flow.of("p", state).description("p").act("a", run -> {}).edge(START, "a").edge("a", END);
  }

  private static void assertRefused(FlowBuilder<?> flow, String... defects) {
    assertThat(defects(flow)).contains(defects);
  }

  private static List<String> defects(FlowBuilder<?> flow) {
    return catchThrowableOfType(InvalidFlowException.class, flow::compile).defects();
  }
}
