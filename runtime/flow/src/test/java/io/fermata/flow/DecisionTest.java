package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which way a run goes. */
class DecisionTest {
  private final List<String> ran = new ArrayList<>();

  private FlowBuilder<Flows.Talk> branching() {
    return ask(ask(ask(talk(), "number"), "a"), "b")
        .edge(START, "ask_number")
        .decide(
            "ask_number",
            d ->
                d.when("small", s -> s.number() < 10)
                    .to("ask_a")
                    .when("even", s -> s.number() % 2 == 0)
                    .to("ask_b")
                    .otherwise(END))
        .edge("ask_a", END)
        .edge("ask_b", END);
  }

  @Test
  void theFirstRuleThatMatchesDecidesAndOtherwiseTakesTheRest() {
    Driver talk = new Driver(branching().compile());
    assertThat(asked(talk.start("number", 4))).containsExactly("a");
    assertThat(asked(talk.start("number", 14))).containsExactly("b");
    assertThat(talk.start("number", 15)).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void theJournalTellsWhichRulesWereTried() {
    Driver talk = new Driver(branching().compile());
    talk.start("number", 14);
    assertThat(talk.events(Event.Decided.class))
        .containsExactly(
            new Event.Decided(
                new Place("ask_number", 1),
                List.of(new Event.Tried("small", false), new Event.Tried("even", true)),
                "ask_b"));
  }

  @Test
  void aRunMayBeginWithADecision() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "b")
                .decide(
                    START, d -> d.when("known", s -> s.a() != null).to("ask_b").otherwise("ask_a"))
                .edge("ask_a", "ask_b")
                .edge("ask_b", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a");
    assertThat(asked(talk.start("a", "x"))).containsExactly("b");
  }

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
    assertThat(talk.events(Event.Decided.class)).isEmpty();
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(ran).containsExactly("act");
  }

  @Test
  void anAnswerMayMendAThrowingDecision() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .edge(START, "ask_a")
                .decide(
                    "ask_a", d -> d.when("b is x", s -> s.b().equals("x")).to(END).otherwise(END))
                .compile());
    assertThat(code(talk.start("a", "x"))).isEqualTo("decision_failed");
    assertThat(talk.proceed("b", "x")).isInstanceOf(Outcome.Complete.class);
  }
}
