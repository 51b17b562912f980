package io.fermata.flow;

import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.RunPicture;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Reducer;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Rules that choose several branches at once. */
class SelectTest {
  private static Driver select(Consumer<Branches> rules) {
    FlowBuilder<Flows.Talk> flow = talk().select(START, rules).edge("join", END);
    for (String head : List.of("one", "two", "three")) {
      flow.act(head, run -> run.append("log", head)).edge(head, "join");
    }
    return new Driver(
        flow.act("join", run -> run.set("computed", "joined"))
            .reduce("log", Reducer.append())
            .compile());
  }

  private static Driver byNumber(Consumer<Branches> more) {
    return select(
        s -> {
          s.when("one", gt("number", 1)).to("one").when("two", gt("number", 2)).to("two");
          more.accept(s.join("join"));
        });
  }

  private static Object log(Outcome outcome) {
    return result(outcome).path("log").toString();
  }

  @Test
  void allBranchesWhoseRulesMatchAreTaken() {
    assertThat(log(byNumber(s -> s.branch("three")).start("number", 3)))
        .isEqualTo("[\"one\",\"two\",\"three\"]");
    assertThat(log(byNumber(s -> s.branch("three")).start("number", 2)))
        .isEqualTo("[\"one\",\"three\"]");
  }

  @Test
  void everyRuleIsTriedAndItsEvidenceKept() {
    Driver talk = byNumber(s -> s.otherwise("three"));
    talk.start("number", 2);
    Event.Decided decided = talk.events(Event.Decided.class).get(0);
    assertThat(decided.targets()).containsExactly("one");
    assertThat(decided.tried())
        .containsExactly(
            new Event.Tried(
                "one",
                true,
                List.of(new Event.Seen("number", Json.tree(2), "gt", Json.tree(1), true))),
            new Event.Tried(
                "two",
                false,
                List.of(new Event.Seen("number", Json.tree(2), "gt", Json.tree(2), false))));
  }

  @Test
  void ifNoneMatchesTheOtherwiseIsTaken() {
    Driver talk = byNumber(s -> s.otherwise("three"));
    assertThat(log(talk.start("number", 0))).isEqualTo("[\"three\"]");
    assertThat(talk.events(Event.Decided.class).get(0).targets()).containsExactly("three");
  }

  @Test
  void withoutAnOtherwiseTheRunGoesStraightToTheJoin() {
    Driver none =
        new Driver(
            talk()
                .act("one", run -> run.append("log", "one"))
                .select(START, s -> s.when(eq("a", "x")).to("one").join(END))
                .edge("one", END)
                .compile());
    assertThat(result(none.start()).has("log")).isFalse();
    assertThat(none.events(Event.Forked.class)).isEmpty();
    assertThat(none.events(Event.Decided.class).get(0).targets()).containsExactly(END);
  }

  /** Works where the number is above 1, lists the failure of that, and asks whether to go on. */
  private static Driver collecting() {
    FlowBuilder<Flows.Talk> flow = Flows.ask(Flows.ask(talk(), "number"), "flag");
    return new Driver(
        flow.act(
                "work",
                run -> {
                  throw new StepException("It broke.");
                })
            .edge(START, "ask_number")
            .select(
                "ask_number",
                s -> s.when(gt("number", 1)).to("work").collect("failures").join("ask_flag"))
            .edge("work", "ask_flag")
            .decide("ask_flag", d -> d.when(eq("flag", true)).to("ask_number").otherwise(END))
            .compile());
  }

  @Test
  void whereNoBranchIsTakenThereAreNoFailures() {
    Driver talk = collecting();
    talk.start("number", 2);
    assertThat(talk.state.data().path("failures")).hasSize(1);
    talk.proceed("flag", true);
    talk.proceed("number", 0);
    assertThat(result(talk.proceed("flag", false)).path("failures"))
        .isEqualTo(Json.tree(List.of()));
    assertThat(talk.events(Event.Forked.class)).hasSize(1);
  }

  @Test
  void recordersSeeThatNoBranchWasTaken() {
    Driver talk = collecting();
    talk.start("number", 0);
    Narrative narrative = new Narrative();
    RunPicture picture = new RunPicture(talk.program.flow());
    RunObserver observer = RunObserver.of(talk.program.flow(), "s", narrative, picture);
    talk.entries.forEach(e -> observer.record(e.seq(), e.at(), e.events()));
    assertThat(narrative.text(talk.state.runId()))
        .contains("No branch of ask_number was taken and set failures = [].");
    assertThat(picture.picture().mermaid())
        .contains("n3 -->|\"none matches\"| n4")
        .contains("linkStyle 0,1,3,4 stroke");
  }

  @Test
  void aRuleThatThrowsStopsWithTheEvidenceSoFarAndIsTriedAgain() {
    boolean[] broken = {true};
    Driver talk =
        new Driver(
            talk()
                .act("one", run -> {})
                .act("two", run -> {})
                .select(
                    START,
                    s ->
                        s.when(gt("number", 1))
                            .to("one")
                            .when("two", data -> AskingTest.orThrow(broken, "").isEmpty())
                            .to("two")
                            .join(END))
                .edge("one", END)
                .edge("two", END)
                .compile());
    assertThat(code(talk.start("number", 2))).isEqualTo("decision_failed");
    Event.Decided failed = talk.events(Event.Decided.class).get(0);
    assertThat(failed.targets()).isEmpty();
    assertThat(failed.tried()).extracting(Event.Tried::rule).hasSize(2).endsWith("two");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Forked.class).get(0).heads())
        .extracting(Event.Head::label)
        .containsExactly("one", "two");
  }

  @Test
  void aBranchWithoutARuleIsAlwaysTaken() {
    Driver talk =
        select(s -> s.when(eq("a", "x")).to("one").branch("two").branch("three").join("join"));
    assertThat(log(talk.start())).isEqualTo("[\"two\",\"three\"]");
  }

  @Test
  void aQuorumOfFewerBranchesThanItNamesNeedsAllThatWereTaken() {
    Driver talk = byNumber(s -> s.branch("three").quorum(3));
    assertThat(log(talk.start("number", 2))).isEqualTo("[\"one\",\"three\"]");
  }

  @Test
  void twoRulesForOneBranchTakeItOnce() {
    Driver talk =
        new Driver(
            talk()
                .act("one", run -> run.append("log", "one"))
                .select(
                    START,
                    s ->
                        s.when(gt("number", 1)).to("one").when(gt("number", 2)).to("one").join(END))
                .edge("one", END)
                .compile());
    assertThat(log(talk.start("number", 3))).isEqualTo("[\"one\"]");
  }
}
