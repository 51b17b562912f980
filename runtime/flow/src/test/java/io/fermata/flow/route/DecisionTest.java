package io.fermata.flow.route;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.and;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.exists;
import static io.fermata.flow.route.Condition.field;
import static io.fermata.flow.route.Condition.gt;
import static io.fermata.flow.route.Condition.lt;
import static io.fermata.flow.route.Condition.matches;
import static io.fermata.flow.route.Condition.visits;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.FieldScope;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.InvalidFlowException;
import io.fermata.flow.action.StepException;
import io.fermata.flow.engine.PlaceFacts;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.StateSchema;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/** Which way a run goes, and what the journal tells of why. */
class DecisionTest {
  private final List<String> ran = new ArrayList<>();

  private static FlowBuilder<Flows.Talk> branching() {
    return ask(ask(ask(talk(), "number"), "a"), "b")
        .edge(START, "ask_number")
        .decide(
            "ask_number",
            d ->
                d.when("small", lt("number", 10))
                    .to("ask_a")
                    .when(
                        "even",
                        s -> Objects.requireNonNull(s.get("number", Integer.class)) % 2 == 0)
                    .to("ask_b")
                    .when(exists("computed"))
                    .to("ask_b")
                    .otherwise(END))
        .edge("ask_a", END)
        .edge("ask_b", END);
  }

  private static FlowBuilder<Flows.Talk> deciding(Consumer<Decision> rules) {
    return ask(talk(), "a").edge(START, "ask_a").decide("ask_a", rules);
  }

  private static FlowBuilder<Flows.Talk> passing(Predicate<StateReads> function) {
    return deciding(d -> d.when("rule", function).to(END).otherwise(END));
  }

  private static Event.Seen read(String what, Object is) {
    return new Event.Seen(what, Json.tree(is), null, null, null);
  }

  private static Event.Seen absent(String what) {
    return new Event.Seen(what, null, null, null, null);
  }

  private static Event.Decided decided(Driver talk) {
    List<Event.Decided> all = talk.events(Event.Decided.class);
    return all.get(all.size() - 1);
  }

  /** What the only rule looked at in a run that begins with these values. */
  private static List<Event.Seen> seen(Predicate<StateReads> function, Object... values) {
    Driver talk = new Driver(passing(function).compile());
    talk.start(values);
    return decided(talk).tried().get(0).seen();
  }

  // --- which way ------------------------------------------------------------------------------

  @Test
  void theFirstRuleThatMatchesDecidesAndOtherwiseTakesTheRest() {
    Driver talk = new Driver(branching().compile());
    assertThat(asked(talk.start("number", 4))).containsExactly("a");
    assertThat(asked(talk.start("number", 14))).containsExactly("b");
    assertThat(talk.start("number", 15)).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aRunMayBeginWithADecision() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .decide(START, d -> d.when("known", exists("a")).to("ask_b").otherwise("ask_a"))
                .edge("ask_a", "ask_b")
                .edge("ask_b", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(asked(talk.start("a", "x"))).containsExactly("b");
  }

  @Test
  void aDecisionMayCountHowOftenTheRunWasSomewhere() {
    Driver talk =
        new Driver(
            deciding(d -> d.when(visits("ask_a").gte(3)).to(END).otherwise("ask_a")).compile());
    talk.start("a", "x");
    talk.proceed("a", "y");
    assertThat(talk.proceed("a", "z")).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Decided.class))
        .extracting(e -> e.tried().get(0).seen())
        .containsExactly(
            List.of(visited(1, false)), List.of(visited(2, false)), List.of(visited(3, true)));
  }

  private static Event.Seen visited(int times, boolean held) {
    return new Event.Seen("visits of ask_a", Json.tree(times), "gte", Json.tree(3), held);
  }

  // --- what the journal tells -----------------------------------------------------------------

  @Test
  void theJournalHoldsWhichRulesWereTriedOnWhichValuesAndNoneAfterTheOneThatDecided() {
    Driver talk = new Driver(branching().compile());
    talk.start("number", 14);
    assertThat(talk.events(Event.Decided.class))
        .containsExactly(
            new Event.Decided(
                new Place("ask_number", 1),
                List.of(
                    new Event.Tried(
                        "small",
                        false,
                        List.of(
                            new Event.Seen("number", Json.tree(14), "lt", Json.tree(10), false))),
                    new Event.Tried("even", true, List.of(read("number", 14)))),
                List.of("ask_b")));
  }

  @Test
  void whereNoRuleMatchesTheJournalHoldsAllAndTheWayOtherwise() {
    Driver talk = new Driver(branching().compile());
    talk.start("number", 15);
    assertThat(decided(talk).tried())
        .extracting(Event.Tried::rule)
        .containsExactly("small", "even", "computed exists");
    assertThat(decided(talk).targets()).containsExactly(END);
  }

  @Test
  void aRuleIsCalledWhatItsConditionSaysUnlessItHasALabel() {
    Driver talk =
        new Driver(
            deciding(
                    d ->
                        d.when(and(eq("a", "x"), gt("number", 6)))
                            .to(END)
                            .when("anything", exists("a"))
                            .to(END)
                            .otherwise(END))
                .compile());
    talk.start("a", "y");
    assertThat(decided(talk).tried())
        .extracting(Event.Tried::rule)
        .containsExactly("(a eq \"x\" and number gt 6)", "anything");
  }

  @Test
  void aDecisionReadsBackFromItsJsonAndFoldsWithoutTheAuthorsCode() throws Exception {
    boolean[] forbidden = {false};
    Driver talk =
        new Driver(
            passing(
                    s -> {
                      assertThat(forbidden[0]).isFalse();
                      return s.has("number") && s.get("flag", Boolean.class) == null;
                    })
                .compile());
    talk.start("a", "x", "number", 7);
    forbidden[0] = true;
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
    String text = Json.MAPPER.writeValueAsString(decided(talk));
    assertThat(text)
        .isEqualTo(
            "{\"e\":\"decided\",\"place\":\"ask_a#1\",\"tried\":[{\"rule\":\"rule\",\"matched\":true,"
                + "\"seen\":[{\"what\":\"number\",\"is\":7},{\"what\":\"flag\"}]}],"
                + "\"targets\":[\"__end__\"]}");
    assertThat(Json.MAPPER.readValue(text, Event.class)).isEqualTo(decided(talk));
  }

  // --- functions ------------------------------------------------------------------------------

  @Test
  void everyReadOfAFunctionIsWrittenDownInOrder() {
    assertThat(
            seen(
                s ->
                    "x".equals(s.get("a", String.class))
                        && BigDecimal.valueOf(7).compareTo(s.get("number", BigDecimal.class)) == 0
                        && Objects.equals(s.get("number", Integer.class), 7)
                        && Boolean.TRUE.equals(s.get("flag", Boolean.class))
                        && new Flows.Address("Elm", "Rome")
                            .equals(s.get("address", Flows.Address.class))
                        && "Rome".equals(s.get("address.city", String.class))
                        && "n".equals(s.get("notes.any", String.class))
                        && s.has("list")
                        && s.visits("ask_a") == 1
                        && s.get("b", String.class) == null,
                "a",
                "x",
                "number",
                7,
                "flag",
                true,
                "address",
                Driver.object("street", "Elm", "city", "Rome"),
                "notes",
                Driver.object("any", "n"),
                "list",
                List.of("l")))
        .containsExactly(
            read("a", "x"),
            read("number", 7),
            read("flag", true),
            read("address", Driver.object("street", "Elm", "city", "Rome")),
            read("address.city", "Rome"),
            read("notes.any", "n"),
            read("list", List.of("l")),
            read("visits of ask_a", 1),
            absent("b"));
  }

  @Test
  void whatHasNoValueReadsAsNull() {
    assertThat(
            seen(
                s ->
                    s.get("b", String.class) == null
                        && s.get("number", BigDecimal.class) == null
                        && s.get("number", Integer.class) == null
                        && s.get("flag", Boolean.class) == null
                        && s.get("address", Flows.Address.class) == null
                        && !s.has("address.city"),
                "a",
                "x"))
        .containsExactly(
            absent("b"),
            absent("number"),
            absent("flag"),
            absent("address"),
            absent("address.city"));
  }

  @Test
  void aFieldThatIsReadAgainIsWrittenDownOnce() {
    assertThat(
            seen(
                s -> s.has("a") && s.get("a", String.class) != null && s.has("b") && s.has("a"),
                "a",
                "x"))
        .containsExactly(read("a", "x"), absent("b"));
  }

  @Test
  void whatTheJournalKeepsOfAValueIsShort() {
    Event.Seen seen = seen(s -> s.has("a"), "a", "x".repeat(201)).get(0);
    assertThat(Objects.requireNonNull(seen.is()).textValue()).isEqualTo("x".repeat(199) + "…");
    assertThat(seen(s -> s.has("a"), "a", "x".repeat(200)))
        .containsExactly(read("a", "x".repeat(200)));
  }

  @Test
  void aFunctionThatReadsAMissingFieldIsShownTheExistingOnes() {
    StateReads reads =
        new StateReads(
            at(RunState.NONE, "ask_pin"), new StateSchema<>(Flows.Talk.class), new Evidence());
    assertThatThrownBy(() -> reads.get("nunber", String.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("There is no field nunber; did you mean number?");
    assertThatThrownBy(() -> reads.visits("ask_pn"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("There is no node ask_pn; did you mean ask_pin?");
  }

  @Test
  void aFunctionThatReadsAValueAsAnotherTypeIsRefused() {
    for (Predicate<StateReads> wrong :
        List.<Predicate<StateReads>>of(
            s -> s.get("number", String.class) != null,
            s -> s.get("number", Boolean.class) != null,
            s -> s.get("a", BigDecimal.class) != null,
            s -> s.get("computed", Integer.class) != null,
            s -> s.get("a", Flows.Address.class) != null)) {
      Driver talk =
          new Driver(
              ask(talk(), "a")
                  .act("act", run -> run.set("computed", "1.5"))
                  .edge(START, "ask_a")
                  .edge("ask_a", "act")
                  .decide("act", d -> d.when("rule", wrong).to(END).otherwise(END))
                  .compile());
      assertThat(code(talk.start("a", "x", "number", 7))).isEqualTo("decision_failed");
      assertThat(talk.events(Event.Stopped.class).get(0).detail())
          .startsWith("java.lang.IllegalArgumentException: Field ");
    }
  }

  // --- a function that fails ------------------------------------------------------------------

  @Test
  void aDecisionThatThrowsIsTakenAgainWithoutTheActionBeforeIt() {
    boolean[] broken = {true};
    Driver talk =
        new Driver(
            talk()
                .act("act", run -> ran.add("act"))
                .edge(START, "act")
                .decide(
                    "act",
                    d ->
                        d.when("x", s -> !AskingTest.orThrow(broken, "x").isEmpty())
                            .to(END)
                            .otherwise("act"))
                .compile());
    assertThat(code(talk.start())).isEqualTo("decision_failed");
    assertThat(code(talk.proceed())).isEqualTo("decision_failed");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("act");
  }

  @Test
  void aDecisionThatThrowsKeepsWhatItHadTriedAndReadAndChoosesNoWay() {
    Driver talk =
        new Driver(
            deciding(
                    d ->
                        d.when("first", eq("a", "y"))
                            .to(END)
                            .when(
                                "fails",
                                s -> {
                                  s.get("a", String.class);
                                  return Objects.requireNonNull(s.get("b", String.class)).isEmpty();
                                })
                            .to(END)
                            .when("never", exists("a"))
                            .to(END)
                            .otherwise(END))
                .compile());
    assertThat(code(talk.start("a", "x"))).isEqualTo("decision_failed");
    assertThat(decided(talk))
        .isEqualTo(
            new Event.Decided(
                new Place("ask_a", 1),
                List.of(
                    new Event.Tried(
                        "first",
                        false,
                        List.of(new Event.Seen("a", Json.tree("x"), "eq", Json.tree("y"), false))),
                    new Event.Tried("fails", false, List.of(read("a", "x"), absent("b")))),
                List.of()));
    assertThat(talk.journal.get(talk.journal.size() - 1)).isInstanceOf(Event.Stopped.class);
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
  }

  @Test
  void anAnswerMayMendAThrowingDecision() {
    Driver talk =
        new Driver(
            passing(s -> Objects.requireNonNull(s.get("b", String.class)).equals("x")).compile());
    assertThat(code(talk.start("a", "x"))).isEqualTo("decision_failed");
    assertThat(talk.proceed("b", "x")).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Decided.class))
        .extracting(Event.Decided::targets)
        .containsExactly(List.of(), List.of(END));
  }

  @Test
  void whatAFunctionSaysToTheClientIsPassedOn() {
    Driver talk =
        new Driver(
            passing(
                    s -> {
                      throw new StepException("We are closed.");
                    })
                .compile());
    assertThat(failure(talk.start("a", "x")).message())
        .startsWith("We are closed. Continue without stateUpdates to decide again");
  }

  // --- all rules ------------------------------------------------------------------------------

  @Test
  void allRulesAreTriedWhereAllThatMatchCount() {
    List<Route.Rule> rules =
        List.of(
            rule("one", exists("a"), "n1"),
            rule("two", exists("b"), "n2"),
            rule("three", exists("a"), "n3"));
    Rules.Found found = Rules.all(rules, facts("a", "x"), new StateSchema<>(Flows.Talk.class));
    assertThat(found.targets()).containsExactly("n1", "n3");
    assertThat(found.tried()).extracting(Event.Tried::matched).containsExactly(true, false, true);
    assertThat(found.failure()).isNull();
  }

  @Test
  void whereOneOfAllRulesFailsNoneCounts() {
    StepException failure = new StepException("No.");
    List<Route.Rule> rules =
        List.of(
            rule("one", exists("a"), "n1"),
            new Route.Rule(
                "two",
                new Route.Test.Passes(
                    s -> {
                      s.get("a", String.class);
                      throw failure;
                    }),
                "n2"),
            rule("three", exists("a"), "n3"));
    Rules.Found found = Rules.all(rules, facts("a", "x"), new StateSchema<>(Flows.Talk.class));
    assertThat(found.targets()).isEmpty();
    assertThat(found.tried()).extracting(Event.Tried::rule).containsExactly("one", "two");
    assertThat(found.tried().get(1).seen()).containsExactly(read("a", "x"));
    assertThat(found.failure()).isSameAs(failure);
  }

  private static Route.Rule rule(String label, Condition condition, String target) {
    return new Route.Rule(label, new Route.Test.Holds(condition), target);
  }

  private static Facts facts(Object... values) {
    RunState begun = RunState.NONE.apply(new Event.Started("r", 1, "f", "to test", 1));
    Map<String, JsonNode> answers = new LinkedHashMap<>();
    Driver.object(values).properties().forEach(e -> answers.put(e.getKey(), e.getValue()));
    return at(begun.apply(new Event.Answered(answers, null, 2)), "a");
  }

  private static Facts at(RunState state, String node) {
    Flow<Flows.Talk> flow = talk().act(node, run -> {}).edge(START, node).edge(node, END).compile();
    return new PlaceFacts(state, new Place(node, 1), new FieldScope<>("", flow, null, false));
  }

  // --- what compile refuses -------------------------------------------------------------------

  @Test
  void compileListsWhatIsWrongWithEveryRule() {
    FlowBuilder<Flows.Talk> flow =
        deciding(
            d ->
                d.when("", exists("a"))
                    .to(END)
                    .when("same", exists("a"))
                    .to(END)
                    .when("same", s -> true)
                    .to(END)
                    .when(
                        "wrong", and(gt("nunber", 1), matches("number", "["), gt("a", field("b"))))
                    .to(END)
                    .otherwise(END));
    assertThat(catchThrowableOfType(InvalidFlowException.class, flow::compile).defects())
        .containsExactly(
            "A rule after ask_a has a blank label; say in it what the rule means",
            "The rule \"same\" after ask_a is there twice; give one of the two another label",
            "The rule \"wrong\" after ask_a reads nunber, which the state does not have; did you"
                + " mean number?",
            "The rule \"wrong\" after ask_a says number matches \"[\", but number is a whole"
                + " number (Integer); only a text can match",
            "The rule \"wrong\" after ask_a says number matches \"[\", which is no regular"
                + " expression: Unclosed character class; correct it");
  }
}
