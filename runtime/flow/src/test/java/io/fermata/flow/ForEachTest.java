package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.json.Violation;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A sub-flow that runs for every item of a list, side by side. */
class ForEachTest {
  record Person(String name, Integer age, List<String> pets, @Computed List<String> fed) {}

  record Pet(String name, String food) {}

  record Failure(String branch, String code, String message) {}

  record Team(
      List<String> people,
      Boolean again,
      @Computed List<String> lines,
      @Computed List<Failure> failures) {}

  private final List<String> ran = new ArrayList<>();
  private final Set<String> broken = new HashSet<>();
  private boolean ordinary;

  /** Asks for a person's age and gives back a line about it. */
  private Flow<Person> person() {
    return Flow.of("person", Person.class)
        .description("Asks a person.")
        .ask(
            "ask_age",
            q -> q.question("age", person -> "How old is " + person.name() + "?", o -> {}))
        .act("note", this::note)
        .compensate("note", run -> ran.add("undo " + run.state().name()))
        .edge(START, "ask_age")
        .edge("ask_age", "note")
        .edge("note", END)
        .result(person -> person.name() + " is " + person.age())
        .compile();
  }

  private void note(Run<Person> run) {
    String name = run.state().name();
    ran.add(name);
    if (broken.contains(name) && ordinary) {
      throw new IllegalStateException("the list of " + name + " is locked");
    } else if (broken.contains(name)) {
      throw new StepException(name + " fails.");
    }
  }

  private static FlowBuilder<Team> team() {
    return Flow.of("team", Team.class)
        .description("Asks a team.")
        .ask("ask_people", q -> q.question("people", "Who?"))
        .edge(START, "ask_people")
        .result(team -> team);
  }

  private Driver each(Consumer<ForEach<Team, String>> policy) {
    return each(person(), policy);
  }

  private static Driver each(Flow<Person> person, Consumer<ForEach<Team, String>> policy) {
    return new Driver(
        team()
            .forEach(
                "each",
                person,
                (ForEach<Team, String> o) -> {
                  o.items(Team::people)
                      .input((team, name) -> Map.of("name", name))
                      .atMost(3)
                      .into("lines");
                  policy.accept(o);
                })
            .edge("ask_people", "each")
            .edge("each", END)
            .compile());
  }

  private static JsonNode lines(Outcome outcome) {
    return result(outcome).path("lines");
  }

  // --- one after the other and all together ---------------------------------------------------

  @Test
  void theQuestionsOfAllItemsAreAskedTogetherAndNameTheItem() {
    Driver team = each(o -> {});
    Outcome pause = team.start("people", List.of("Ada", "Bob"));
    assertThat(((Outcome.Interrupt) pause).questions())
        .extracting(Event.Question::field, Event.Question::question)
        .containsExactly(
            tuple("each.0.age", "How old is Ada?"), tuple("each.1.age", "How old is Bob?"));
    assertThat(team.events(Event.Asked.class))
        .extracting(e -> e.place().toString())
        .contains("each#1:0|each/ask_age#1", "each#1:1|each/ask_age#1");
  }

  @Test
  void theResultsAreInTheOrderOfTheItemsWhicheverIsDoneFirst() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob"));
    assertThat(asked(team.proceed("each.1.age", 7))).containsExactly("each.0.age");
    Outcome end = team.proceed("each.0.age", 36);
    assertThat(lines(end)).isEqualTo(Json.tree(List.of("Ada is 36", "Bob is 7")));
    assertThat(ran).containsExactly("Bob", "Ada");
  }

  @Test
  void whatAListAndItsFailuresFilledIsNotAskedFor() {
    broken.add("Bob");
    record Report(List<String> people, List<String> lines, List<Failure> failures, String note) {}
    Driver report =
        new Driver(
            Flow.of("report", Report.class)
                .description("Asks a team.")
                .ask("ask_people", q -> q.question("people", "Who?"))
                .forEach(
                    "each",
                    person(),
                    (ForEach<Report, String> o) ->
                        o.items(Report::people)
                            .input((team, name) -> Map.of("name", name, "age", 7))
                            .atMost(3)
                            .into("lines")
                            .collect("failures"))
                .ask(
                    "check",
                    q ->
                        q.question("lines", "Which lines?")
                            .question("failures", "Which failures?")
                            .question("note", "Anything else?"))
                .edge(START, "ask_people")
                .edge("ask_people", "each")
                .edge("each", "check")
                .edge("check", END)
                .compile());
    assertThat(asked(report.start("people", List.of("Ada", "Bob")))).containsExactly("note");
  }

  @Test
  void anAnswerForAnItemThatIsNotThereIsRefused() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob"));
    for (String field : List.of("each.2.age", "each.00.age")) {
      Outcome refused = team.proceed(field, 7, "each.0.age", 36);
      assertThat(code(refused)).isEqualTo("invalid_updates");
      assertThat(failure(refused).violations())
          .containsExactly(new Violation(field, "is of no item; there are 2, counted from 0"));
    }
    assertThat(asked(team.proceed("each.1.age", 7))).containsExactly("each.0.age");
  }

  @Test
  void anItemIsAnsweredAheadOfTime() {
    Driver team = each(o -> {});
    assertThat(asked(team.start("people", List.of("Ada", "Bob"), "each.1.age", 7)))
        .containsExactly("each.0.age");
    assertThat(lines(team.proceed("each", Driver.object("0", Driver.object("age", 36)))))
        .isEqualTo(Json.tree(List.of("Ada is 36", "Bob is 7")));
  }

  @Test
  void theStatesOfTheItemsAreGoneAfterTheJoin() {
    Driver team = each(o -> {});
    Outcome end = team.start("people", List.of("Ada"), "each.0.age", 36);
    assertThat(end).isInstanceOf(Outcome.Complete.class);
    assertThat(team.state.data().has("each")).isFalse();
    assertThat(team.state.branches()).containsOnlyKeys("");
  }

  @Test
  void anItemSeesItsOwnStateAlone() {
    Flow<Person> looks =
        Flow.of("looks", Person.class)
            .description("Looks.")
            .act("look", run -> ran.add(run.state().name() + " " + run.state().age()))
            .act("grow", run -> run.set("age", 1))
            .edge(START, "grow")
            .edge("grow", "look")
            .edge("look", END)
            .result(person -> null)
            .compile();
    assertThat(lines(each(looks, o -> {}).start("people", List.of("Ada", "Bob"))))
        .isEqualTo(Json.MAPPER.createArrayNode().addNull().addNull());
    assertThat(ran).containsExactly("Ada 1", "Bob 1");
  }

  // --- how many -------------------------------------------------------------------------------

  @Test
  void anEmptyListIsPassedBy() {
    for (Object none : List.of(List.of(), Json.MAPPER.nullNode())) {
      Driver team =
          new Driver(
              Flow.of("team", Team.class)
                  .description("Asks a team.")
                  .forEach(
                      "each",
                      person(),
                      (ForEach<Team, String> o) ->
                          o.items(Team::people).atMost(1).into("lines").collect("failures"))
                  .edge(START, "each")
                  .edge("each", END)
                  .result(t -> t)
                  .compile());
      Outcome end = team.start("people", none);
      assertThat(lines(end)).isEqualTo(Json.tree(List.of()));
      assertThat(result(end).path("failures")).isEqualTo(Json.tree(List.of()));
      assertThat(team.events(Event.Forked.class)).isEmpty();
    }
  }

  @Test
  void moreItemsThanTheBoundStopTheRunUntilTheListIsCorrected() {
    Driver team = each(o -> {});
    Outcome stop = team.start("people", List.of("Ada", "Bob", "Cy", "Di"));
    assertThat(code(stop)).isEqualTo("too_many_branches");
    assertThat(failure(stop).message()).contains("each", "4 items", "may have 3");
    assertThat(code(team.proceed())).isEqualTo("too_many_branches");
    assertThat(asked(team.reset("people", List.of("Ada")))).containsExactly("each.0.age");
  }

  @Test
  void itemsThatCannotBeReadStopTheRunAndAreTriedAgain() {
    boolean[] bad = {true};
    Driver team =
        new Driver(
            team()
                .forEach(
                    "each",
                    person(),
                    (ForEach<Team, String> o) ->
                        o.items(t -> AskingTest.orThrow(bad, "").isEmpty() ? t.people() : List.of())
                            .atMost(3))
                .edge("ask_people", "each")
                .edge("each", END)
                .compile());
    assertThat(code(team.start("people", List.of("Ada")))).isEqualTo("step_failed");
    bad[0] = false;
    assertThat(asked(team.proceed())).containsExactly("each.0.age");
  }

  @Test
  void anInputThatDoesNotFitStopsTheListBeforeAnyItemBegins() {
    Driver team =
        each(o -> o.input((t, name) -> Map.of(name.equals("Bob") ? "nmae" : "name", name)));
    Outcome stop = team.start("people", List.of("Ada", "Bob"));
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(team.events(Event.Forked.class)).isEmpty();
    assertThat(asked(team.reset("people", List.of("Ada")))).containsExactly("each.0.age");
  }

  @Test
  void anInputThatMakesTheStateTooLargeStopsTheListBeforeAnyItemBegins() {
    Driver team =
        new Driver(
            team()
                .forEach(
                    "each",
                    person(),
                    (ForEach<Team, String> o) ->
                        o.items(Team::people)
                            .input((t, name) -> Map.of("name", name.repeat(100)))
                            .atMost(3))
                .edge("ask_people", "each")
                .edge("each", END)
                .compile(),
            new Limits(1_000, 100, 100, 32));
    Outcome stop = team.start("people", List.of("Ada", "Bartholomew"));
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(team.events(Event.Forked.class)).isEmpty();
    assertThat(asked(team.reset("people", List.of("Ada", "Bob"))))
        .containsExactly("each.0.age", "each.1.age");
    assertThat(asked(team.proceed("each.0.age", 36))).containsExactly("each.1.age");
  }

  @Test
  void aListCountsAgainstTheNodesThatOneCallMayEnter() {
    Driver team =
        new Driver(
            team()
                .forEach(
                    "each",
                    person(),
                    (ForEach<Team, String> o) ->
                        o.items(Team::people)
                            .input((t, name) -> Map.of("name", name))
                            .atMost(300)
                            .into("lines"))
                .edge("ask_people", "each")
                .edge("each", END)
                .compile());
    List<String> many = new ArrayList<>();
    for (int i = 0; i < 150; i++) {
      many.add("p" + i);
    }
    assertThat(code(team.start("people", many))).isEqualTo("visit_limit");
    Outcome pause = team.proceed();
    assertThat(asked(pause)).hasSize(150);
  }

  // --- failures and quorums -------------------------------------------------------------------

  private Outcome answerAll(Driver team) {
    team.start("people", List.of("Ada", "Bob", "Cy"));
    return team.proceed("each.0.age", 1, "each.1.age", 2, "each.2.age", 3);
  }

  @Test
  void aFailureHaltsItsItemAloneAndContinueRetriesThatStepAlone() {
    Driver team = each(o -> {});
    broken.add("Bob");
    assertThat(code(answerAll(team))).isEqualTo("step_failed");
    assertThat(ran).containsExactly("Ada", "Bob", "Cy");
    broken.clear();
    assertThat(lines(team.proceed())).hasSize(3);
    assertThat(ran).containsExactly("Ada", "Bob", "Cy", "Bob");
  }

  @Test
  void aCollectedFailureLeavesAHoleInTheResults() {
    Driver team = each(o -> o.collect("failures"));
    broken.add("Bob");
    Outcome end = answerAll(team);
    assertThat(lines(end))
        .isEqualTo(Json.MAPPER.createArrayNode().add("Ada is 1").addNull().add("Cy is 3"));
    assertThat(result(end).path("failures"))
        .isEqualTo(Json.tree(List.of(new Failure("1", "step_failed", "Bob fails."))));
  }

  @Test
  void aCollectedFailureOfAnOrdinaryExceptionNamesItsStepAndNoInternals() {
    Driver team = each(o -> o.collect("failures"));
    broken.add("Bob");
    ordinary = true;
    assertThat(result(answerAll(team)).path("failures"))
        .isEqualTo(
            Json.tree(
                List.of(new Failure("1", "step_failed", "A step of the flow failed: each/note."))));
  }

  @Test
  void theFirstItemDecidesAndTheOthersAreWithdrawn() {
    Driver team = each(ForEach::first);
    team.start("people", List.of("Ada", "Bob"));
    assertThat(lines(team.proceed("each.1.age", 7)))
        .isEqualTo(Json.MAPPER.createArrayNode().addNull().add("Bob is 7"));
  }

  @Test
  void aQuorumWaitsForSoManyAndUndoesWhatTheOthersDid() {
    Flow<Person> person =
        Flow.of("person", Person.class)
            .description("Asks a person.")
            .act("note", this::note)
            .compensate("note", run -> ran.add("undo " + run.state().name()))
            .ask("ask_age", q -> q.question("age", "How old?"))
            .edge(START, "note")
            .edge("note", "ask_age")
            .edge("ask_age", END)
            .result(p -> "" + p.age())
            .compile();
    Driver team = each(person, o -> o.quorum(2));
    team.start("people", List.of("Ada", "Bob", "Cy"));
    team.proceed("each.2.age", 3);
    assertThat(lines(team.proceed("each.1.age", 2)).toString()).isEqualTo("[null,\"2\",\"3\"]");
    assertThat(ran).containsExactly("Ada", "Bob", "Cy", "undo Ada");
  }

  @Test
  void failFastStopsTheOtherItemsUntilTheFailedOneIsTriedAgain() {
    Driver team = each(ForEach::failFast);
    broken.add("Bob");
    team.start("people", List.of("Ada", "Bob"));
    Outcome stop = team.proceed("each.1.age", 7);
    assertThat(code(stop)).isEqualTo("step_failed");
    assertThat(asked(stop)).isEmpty();
    broken.clear();
    assertThat(asked(team.proceed())).containsExactly("each.0.age");
  }

  @Test
  void anItemWhoseResultCannotBeBuiltFails() {
    boolean[] bad = {true};
    Flow<Person> person =
        Flow.of("person", Person.class)
            .description("Asks a person.")
            .act("note", run -> {})
            .edge(START, "note")
            .edge("note", END)
            .result(p -> AskingTest.orThrow(bad, p.name()))
            .compile();
    Driver team = each(person, o -> {});
    assertThat(code(team.start("people", List.of("Ada")))).isEqualTo("result_failed");
    bad[0] = false;
    assertThat(lines(team.proceed())).isEqualTo(Json.tree(List.of("Ada")));
  }

  /** Behind the list it is asked whether to go through it again. */
  private Driver askingAgain() {
    return new Driver(
        team()
            .forEach(
                "each",
                person(),
                (ForEach<Team, String> o) ->
                    o.items(Team::people)
                        .input((t, name) -> Map.of("name", name))
                        .atMost(3)
                        .into("lines"))
            .ask("ask_again", q -> q.question("again", "Again?"))
            .edge("ask_people", "each")
            .edge("each", "ask_again")
            .decide(
                "ask_again",
                d -> d.when("again", Condition.eq("again", true)).to("each").otherwise(END))
            .compile());
  }

  // --- corrections ----------------------------------------------------------------------------

  @Test
  void anAnswerOfOneItemIsCorrectedWithoutTheOthers() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob", "Cy"));
    team.proceed("each.0.age", 1, "each.1.age", 2);
    assertThat(asked(team.reset("each.1.age", 22))).containsExactly("each.2.age");
    assertThat(lines(team.proceed("each.2.age", 3)))
        .isEqualTo(Json.tree(List.of("Ada is 1", "Bob is 22", "Cy is 3")));
    assertThat(ran).containsExactly("Ada", "Bob", "undo Bob", "Bob", "Cy");
  }

  @Test
  void afterTheJoinACorrectionGoesBackToTheListAndKeepsTheOtherAnswers() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1, "each.1.age", 2);
    ran.clear();
    assertThat(asked(team.reset("each.1.age", 22))).containsExactly("again");
    assertThat(lines(team.proceed("again", false)))
        .isEqualTo(Json.tree(List.of("Ada is 1", "Bob is 22")));
    assertThat(ran).containsExactly("undo Bob", "undo Ada", "Ada", "Bob");
  }

  @Test
  void aCorrectedListKeepsTheAnswersOfTheItemsThatItStillHas() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1);
    assertThat(asked(team.reset("people", List.of("Ada", "Bob", "Cy"))))
        .containsExactly("each.1.age", "each.2.age");
  }

  @Test
  void afterACorrectionOfTheListAnAnswerIsNotTakenForAnotherItem() {
    for (boolean joined : List.of(true, false)) {
      Driver team = askingAgain();
      team.start("people", List.of("Ada", "Bob", "Cy"), "each.2.age", 3);
      team.proceed("each.0.age", 1);
      if (joined) {
        team.proceed("each.1.age", 2);
      }
      assertThat(asked(team.reset("people", List.of("Ada", "Cy", "Bob"))))
          .containsExactly("each.1.age", "each.2.age");
      Outcome pause = team.reset("people", List.of("Ada", "Bob", "Cy"));
      assertThat(asked(pause)).containsExactly(joined ? "again" : "each.1.age");
    }
  }

  @Test
  void aCorrectionOfTheListAndOfAnItemIsAboutTheNewItem() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada"));
    team.proceed("each.0.age", 1);
    team.reset("people", List.of("Bob"), "each.0.age", 2);
    assertThat(team.state.data().path("lines")).isEqualTo(Json.tree(List.of("Bob is 2")));
  }

  @Test
  void anAnswerThatAnItemHasBuiltOnChangesOnlyByACorrection() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1);
    assertThat(code(team.proceed("each.0.age", 2))).isEqualTo("already_answered");
    assertThat(asked(team.proceed("each.0.age", 1))).containsExactly("each.1.age");
  }

  /** Asks for a person's age, and then for the pets. */
  private Driver inTwoSteps() {
    Flow<Person> person =
        Flow.of("person", Person.class)
            .description("Asks a person.")
            .ask("ask_age", q -> q.question("age", "How old?"))
            .act("note", this::note, o -> o.once())
            .ask("ask_pets", q -> q.question("pets", "Which pets?"))
            .edge(START, "ask_age")
            .edge("ask_age", "note")
            .edge("note", "ask_pets")
            .edge("ask_pets", END)
            .result(p -> p.name() + " " + p.age() + " " + p.pets())
            .compile();
    Driver team = each(person, o -> {});
    team.start("people", List.of("Ada", "Bob"), "each.0.age", 1, "each.0.pets", List.of("Rex"));
    return team;
  }

  @Test
  void anAnswerOfAnItemStandsWhileAnotherItemIsStillToBeAskedTheSame() {
    Driver team = inTwoSteps();
    Outcome refused = team.proceed("each.0.pets", List.of("Tom"));
    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(failure(refused).violations())
        .containsExactly(new Violation("each.0.pets", "was answered before"));
    assertThat(asked(team.proceed("each.1.pets", List.of("Tom")))).containsExactly("each.1.age");
    assertThat(lines(team.proceed("each.1.age", 2)))
        .isEqualTo(Json.tree(List.of("Ada 1 [Rex]", "Bob 2 [Tom]")));
  }

  @Test
  void whatAnItemIsStillToBeAskedIsAnsweredAheadByACorrection() {
    Driver team = inTwoSteps();
    assertThat(asked(team.reset("each.1.pets", List.of("Tom")))).containsExactly("each.1.age");
    assertThat(team.events(Event.Reset.class)).isEmpty();
    assertThat(lines(team.proceed("each.1.age", 2)))
        .isEqualTo(Json.tree(List.of("Ada 1 [Rex]", "Bob 2 [Tom]")));
    assertThat(ran).containsExactly("Ada", "Bob");
  }

  @Test
  void oneCallMayCorrectAnItemAndAnswerItAhead() {
    Driver team = inTwoSteps();
    Outcome end = team.reset("each.1.age", 2, "each.1.pets", List.of("Tom"));
    assertThat(lines(end)).isEqualTo(Json.tree(List.of("Ada 1 [Rex]", "Bob 2 [Tom]")));
    assertThat(team.events(Event.Reset.class).get(0).to())
        .extracting(back -> back.place().toString())
        .containsExactly("each#1:1|each/ask_age#2");
  }

  @Test
  void aCorrectionOfAnItemThatIsNotThereIsRefused() {
    Driver team = inTwoSteps();
    Outcome refused = team.reset("each.5.pets", List.of(), "each.1.age", 2);
    assertThat(code(refused)).isEqualTo("invalid_updates");
    assertThat(failure(refused).violations())
        .containsExactly(
            new Violation("each.5.pets", "is of no item; there are 2, counted from 0"));
    assertThat(team.events(Event.Reset.class)).isEmpty();
  }

  @Test
  void afterTheJoinACorrectionOfAnItemThatWasNotThereIsRefusedAndNothingRunsAgain() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1, "each.1.age", 2);
    ran.clear();
    for (Outcome refused :
        List.of(team.reset("each.5.age", 9), team.reset("each.1.age", 3, "each.2.age", 9))) {
      assertThat(code(refused)).isEqualTo("invalid_updates");
      assertThat(failure(refused).violations())
          .extracting(Violation::message)
          .containsExactly("is of no item; there are 2, counted from 0");
      assertThat(asked(refused)).containsExactly("again");
    }
    assertThat(ran).isEmpty();
    assertThat(asked(team.reset("people", List.of("Ada", "Bob", "Cy"), "each.2.age", 9)))
        .containsExactly("again");
    assertThat(ran).containsExactly("undo Bob", "undo Ada", "Ada", "Bob", "Cy");
  }

  @Test
  void aCorrectionOfTheListAndOfAnItemThatItIsToHaveIsTaken() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada"));
    assertThat(asked(team.reset("people", List.of("Ada", "Bob"), "each.1.age", 2)))
        .containsExactly("each.0.age");
  }

  @Test
  void aCorrectionOfAnItemThatTheCorrectedListDoesNotHaveIsReported() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1, "each.1.age", 2);
    Outcome reply = team.reset("people", List.of("Cy"), "each.0.age", 3, "each.1.age", 22);
    assertThat(code(reply)).isEqualTo("answer_rejected");
    assertThat(failure(reply).message())
        .isEqualTo("each.1.age: is of no item; there are 1, counted from 0");
    assertThat(failure(reply).violations())
        .containsExactly(new Violation("each.1.age", "is of no item; there are 1, counted from 0"));
    assertThat(asked(reply)).containsExactly("again");
    assertThat(team.state.data().path("lines")).isEqualTo(Json.tree(List.of("Cy is 3")));
    assertThat(asked(team.proceed())).containsExactly("again");
    assertThat(asked(team.reset("people", List.of("Cy", "Dan")))).containsExactly("each.1.age");
  }

  @Test
  void aValueThatWasGivenAheadForAnItemThatDoesNotComeIsReportedEvenAtTheEnd() {
    Driver team = each(o -> {});
    Outcome end =
        team.start(
            "people", List.of("Ada"), "each.0.age", 1, "each.1.age", 2, "each.7.pets", List.of());
    assertThat(lines(end)).isEqualTo(Json.tree(List.of("Ada is 1")));
    assertThat(((Outcome.Complete) end).violations())
        .extracting(Violation::field)
        .containsExactly("each.1.age", "each.7.pets");
    Outcome none = each(o -> {}).start("people", List.of(), "each.0.age", 1);
    assertThat(((Outcome.Complete) none).violations())
        .containsExactly(new Violation("each.0.age", "is of no item; there are 0, counted from 0"));
  }

  @Test
  void itIsNotTakenForAnItemThatACorrectionBrings() {
    Driver team = askingAgain();
    assertThat(violated(team.start("people", List.of("Ada"), "each.0.age", 1, "each.1.age", 2)))
        .containsExactly("each.1.age");
    assertThat(asked(team.reset("people", List.of("Ada", "Bob")))).containsExactly("each.1.age");
  }

  @Test
  void norIsItBroughtBackByABranchBesideTheList() {
    Driver team =
        new Driver(
            team()
                .forEach(
                    "each",
                    person(),
                    (ForEach<Team, String> o) ->
                        o.items(Team::people).input((t, name) -> Map.of("name", name)).atMost(3))
                .ask("ask_again", q -> q.question("again", "Again?"))
                .waitFor("last", "go")
                .fork("ask_people", f -> f.branch("each").branch("ask_again").join("last"))
                .edge("each", "last")
                .edge("ask_again", "last")
                .edge("last", END)
                .compile());
    Object[] given = {"people", List.of("Ada"), "each.0.age", 1, "each.1.age", 2, "again", true};
    assertThat(violated(team.start(given))).containsExactly("each.1.age");
    assertThat(asked(team.reset("people", List.of("Ada", "Bob")))).containsExactly("each.1.age");
  }

  @Test
  void aFieldOfAnItemThatNobodyAsksForIsRefusedOnceAStepOfTheItemHasDoneWithoutIt() {
    Driver team = each(o -> {});
    team.start("people", List.of("Ada", "Bob"), "each.0.age", 1);
    assertThat(ran).containsExactly("Ada");

    assertThat(violated(team.proceed("each.0.pets", List.of("Tom"))))
        .containsExactly("each.0.pets");
    assertThat(asked(team.proceed("each.1.pets", List.of("Tom")))).containsExactly("each.1.age");
  }

  @Test
  void itIsReportedTogetherWithAStepThatFailed() {
    broken.add("Ada");
    Driver team = each(o -> {});
    Outcome reply = team.start("people", List.of("Ada"), "each.0.age", 1, "each.1.age", 2);
    assertThat(code(reply)).isEqualTo("step_failed");
    assertThat(violated(reply)).containsExactly("each.1.age");
    assertThat(violated(team.proceed())).isEmpty();
  }

  @Test
  void anAnswerOfAnItemThatTheListHasNoMoreIsNotReportedAsItIsStillKnown() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.age", 1, "each.1.age", 2);
    assertThat(asked(team.reset("people", List.of("Ada")))).containsExactly("again");
    assertThat(asked(team.reset("people", List.of("Ada", "Bob")))).containsExactly("again");
  }

  @Test
  void aReplyListsTheFirstHundredOfManyItemsThatAreNotThere() {
    Driver team = each(o -> {});
    Object[] many =
        IntStream.range(1, 300).boxed().flatMap(i -> Stream.of("each." + i + ".age", 1)).toArray();
    Outcome reply =
        team.start(Stream.concat(Stream.of("people", List.of("Ada")), Stream.of(many)).toArray());
    assertThat(failure(reply).violations())
        .hasSize(101)
        .endsWith(new Violation("stateUpdates", "has 199 more violations"));
    assertThat(failure(team.proceed(many)).violations()).hasSize(101);
  }

  // --- lists and loops around and within ------------------------------------------------------

  @Test
  void everyPassOfALoopRunsTheItemsAgain() {
    Driver team = askingAgain();
    team.start("people", List.of("Ada"));
    team.proceed("each.0.age", 1);
    assertThat(asked(team.proceed("again", true))).containsExactly("each.0.age");
    assertThat(asked(team.proceed("each.0.age", 2))).containsExactly("again");
    assertThat(lines(team.proceed("again", false))).isEqualTo(Json.tree(List.of("Ada is 2")));
    assertThat(ran).containsExactly("Ada", "Ada");
  }

  private Driver nested() {
    Flow<Pet> pet =
        Flow.of("pet", Pet.class)
            .description("Feeds a pet.")
            .ask(
                "ask_food",
                q -> q.question("food", p -> "What does " + p.name() + " eat?", o -> {}))
            .edge(START, "ask_food")
            .edge("ask_food", END)
            .result(p -> p.name() + " eats " + p.food())
            .compile();
    Flow<Person> person =
        Flow.of("person", Person.class)
            .description("Asks a person.")
            .ask(
                "ask_pets",
                q -> q.question("pets", p -> "Which pets has " + p.name() + "?", o -> {}))
            .forEach(
                "pet",
                pet,
                (ForEach<Person, String> o) ->
                    o.items(Person::pets)
                        .input((p, name) -> Map.of("name", name))
                        .atMost(2)
                        .into("fed"))
            .edge(START, "ask_pets")
            .edge("ask_pets", "pet")
            .edge("pet", END)
            .result(p -> p.name() + ": " + String.join(", ", p.fed()))
            .compile();
    return each(person, o -> {});
  }

  @Test
  void aListWithinAnItemHasItemsOfItsOwn() {
    Driver team = nested();
    team.start("people", List.of("Ada", "Bob"));
    Outcome pause =
        team.proceed("each.0.pets", List.of("Rex", "Tom"), "each.1.pets", List.of("Flip"));
    assertThat(asked(pause))
        .containsExactly("each.0.pet.0.food", "each.0.pet.1.food", "each.1.pet.0.food");
    team.proceed("each.1.pet.0.food", "flies");
    assertThat(asked(team.proceed("each.0.pet.1.food", "fish")))
        .containsExactly("each.0.pet.0.food");
    assertThat(lines(team.proceed("each.0.pet.0.food", "bones")))
        .isEqualTo(
            Json.tree(List.of("Ada: Rex eats bones, Tom eats fish", "Bob: Flip eats flies")));
  }

  @Test
  void anInnerListThatHasJoinedIsCorrectedWithinItsItemAlone() {
    Driver team = nested();
    team.start("people", List.of("Ada", "Bob"));
    team.proceed("each.0.pets", List.of("Rex"), "each.0.pet.0.food", "bones");
    assertThat(code(team.reset("each.0.pet.1.food", "meat"))).isEqualTo("invalid_updates");
    assertThat(asked(team.reset("each.0.pet.0.food", "meat"))).containsExactly("each.1.pets");
    Outcome end = team.proceed("each.1.pets", List.of());
    assertThat(lines(end)).isEqualTo(Json.tree(List.of("Ada: Rex eats meat", "Bob: ")));
  }

  @Test
  void itIsThatOfTheItemWhichTheCorrectionNames() {
    Driver team = nested();
    team.start("people", List.of("Ada", "Bob", "Cy"));
    team.proceed("each.0.pets", List.of("Rex"), "each.0.pet.0.food", "bones");
    team.proceed("each.1.pets", List.of("Tom"), "each.1.pet.0.food", "fish");
    assertThat(asked(team.reset("each.1.pet.0.food", "milk"))).containsExactly("each.2.pets");
    assertThat(lines(team.proceed("each.2.pets", List.of())))
        .isEqualTo(Json.tree(List.of("Ada: Rex eats bones", "Bob: Tom eats milk", "Cy: ")));
  }
}
