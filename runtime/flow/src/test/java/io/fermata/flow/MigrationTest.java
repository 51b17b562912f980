package io.fermata.flow;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.action.StepException;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Runs of an earlier version are carried over as the flow's author says, or left as they are. */
class MigrationTest {
  private final List<String> did = new ArrayList<>();

  record Old(String mail, String size, String city, @Computed String log) {}

  record New(String email, Integer seats, String city, @Computed @Nullable String log) {}

  private static FlowBuilder<Old> old() {
    return Flow.of("order", Old.class).description("Orders.").version(1).result(state -> state);
  }

  private static FlowBuilder<New> next(Consumer<Migration> changes) {
    return Flow.of("order", New.class)
        .description("Orders.")
        .version(2)
        .result(state -> state)
        .migrate(1, changes);
  }

  /** Asks for the mail and the size, then for the city. */
  private static Flow<Old> first() {
    return old()
        .ask("ask_mail", q -> q.question("mail", "Mail?").question("size", "Size?"))
        .ask("ask_city", q -> q.question("city", "City?"))
        .edge(START, "ask_mail")
        .edge("ask_mail", "ask_city")
        .edge("ask_city", END)
        .compile();
  }

  private static void renamed(Migration m) {
    m.node("ask_mail", "ask_contact")
        .field("mail", "email")
        .field("size", "seats")
        .state(MigrationTest::counted);
  }

  private static void counted(Migrating run) {
    String seats = run.get("seats", String.class);
    run.set("seats", seats == null ? null : Integer.valueOf(seats));
  }

  private static Flow<New> second(Consumer<Migration> changes) {
    return next(changes)
        .ask(
            "ask_contact",
            q -> q.question("email", "Your e-mail?").question("seats", "How many seats?"))
        .ask("ask_city", q -> q.question("city", "Which city?"))
        .edge(START, "ask_contact")
        .edge("ask_contact", "ask_city")
        .edge("ask_city", END)
        .compile();
  }

  private static List<String> asked(Outcome outcome) {
    return ((Outcome.Interrupt) outcome)
        .questions().stream().map(Event.Question::question).toList();
  }

  private static String refusal(Outcome outcome) {
    assertThat(outcome).isInstanceOf(Outcome.Failure.class);
    assertThat(((Outcome.Failure) outcome).code()).isEqualTo("migration_failed");
    return ((Outcome.Failure) outcome).message();
  }

  @Test
  void aSignalThatWasNotTakenYetMustFit() {
    Flow<Old> first =
        Flows.chain(
                old()
                    .ask("ask_city", q -> q.question("city", "City?"))
                    .waitFor("size", "sized", "size"),
                "ask_city",
                "size")
            .compile();
    Flow<New> second =
        Flows.chain(
                next(m -> {})
                    .ask("ask_city", q -> q.question("city", "City?"))
                    .waitFor("size", "sized", "seats"),
                "ask_city",
                "size")
            .compile();
    Driver before = started(first);
    before.signal("sized", "large");
    assertThat(refused(before, second)).contains("signal sized").contains("version 2");
  }

  @Test
  void aSignalThatWasNotTakenYetNeedsToFitOneOfTheNodesThatWaitForItsName() {
    Flow<Old> first =
        Flows.chain(
                old()
                    .ask("ask_mail", q -> q.question("mail", "Mail?"))
                    .waitFor("where", "sent", "city"),
                "ask_mail",
                "where")
            .compile();
    Flow<New> second =
        Flows.chain(
                next(m -> m.field("mail", "email"))
                    .ask("ask_mail", q -> q.question("email", "Mail?"))
                    .waitFor("where", "sent", "city")
                    .waitFor("seats", "sent", "seats"),
                "ask_mail",
                "where",
                "seats")
            .compile();
    Driver before = started(first);
    before.signal("sent", "Rome");

    Driver after = new Driver(second);
    assertThat(asked(after.takeOver(before))).containsExactly("Mail?");

    after.proceed("email", "a@b.c");
    assertThat(after.state.data().path("city").asText()).isEqualTo("Rome");
  }

  @Test
  void theJournalHasTheNewNamesInTheOrderTheyWereDeclaredIn() {
    List<String> names = IntStream.range(0, 10).mapToObj(i -> "step" + i).toList();
    Driver after =
        new Driver(
            acting(
                next(m -> names.forEach(name -> m.node("old_" + name, name))),
                "Which city?",
                names));
    after.takeOver(
        started(acting(old(), "City?", names.stream().map(name -> "old_" + name).toList())));
    Event.Migrated migrated = after.events(Event.Migrated.class).get(0);
    assertThat(migrated.nodes().values()).containsExactlyElementsOf(names);
  }

  private static <S extends Record> Flow<S> acting(
      FlowBuilder<S> flow, String question, List<String> names) {
    flow.ask("ask_city", q -> q.question("city", question));
    names.forEach(name -> flow.act(name, run -> {}));
    List<String> nodes = new ArrayList<>(List.of("ask_city"));
    nodes.addAll(names);
    return Flows.chain(flow, nodes.toArray(String[]::new)).compile();
  }

  private static Driver started(Flow<?> flow, Object... updates) {
    Driver driver = new Driver(flow);
    driver.start(updates);
    return driver;
  }

  private static String refused(Driver before, Flow<?> flow) {
    Driver after = new Driver(flow);
    String why = refusal(after.takeOver(before));
    assertThat(after.state).isEqualTo(before.state);
    return why;
  }

  // --- what is carried over -------------------------------------------------------------------

  @Test
  void aRunContinuesInTheNewVersionUnderItsNewNames() {
    Driver run = new Driver(second(MigrationTest::renamed));
    Outcome open = run.takeOver(started(first(), "size", "12"));

    assertThat(asked(open)).containsExactly("Your e-mail?");
    assertThat(run.state.version()).isEqualTo(2);
    assertThat(run.state.fingerprint()).isEqualTo(run.program.flow().fingerprint());
    assertThat(run.state.places().keySet()).containsExactly(Place.parse("ask_contact#1"));
    run.proceed("email", "a@b.c");
    assertThat(run.proceed("city", "Rome"))
        .isEqualTo(new Outcome.Complete(Json.tree(new New("a@b.c", 12, "Rome", null))));
  }

  @Test
  void theAuthorsFunctionRunsOnceForEachStateAndNotWhenTheJournalIsFolded() {
    AtomicInteger calls = new AtomicInteger();
    Driver run =
        new Driver(
            second(
                m ->
                    m.node("ask_mail", "ask_contact")
                        .field("mail", "email")
                        .state(
                            state -> state.delete("size").set("seats", calls.incrementAndGet()))));
    run.takeOver(started(first(), "size", "12"));
    int once = calls.get();

    assertThat(Driver.fold(run.journal)).isEqualTo(run.state);
    assertThat(calls).hasValue(once);
  }

  @Test
  void aCorrectionLeadsBackToBeforeTheMigrationInTheNewShape() {
    Driver before = started(first(), "mail", "a@b.c", "size", "12");
    Driver run = new Driver(second(MigrationTest::renamed));
    run.takeOver(before);

    assertThat(asked(run.reset("email", "x@y.z"))).containsExactly("Which city?");
    assertThat(run.proceed("city", "Rome"))
        .isEqualTo(new Outcome.Complete(Json.tree(new New("x@y.z", 12, "Rome", null))));
  }

  @Test
  void aRunAtANodeThatIsGoneContinuesWhereTheAuthorSays() {
    Flow<New> flow =
        next(m -> {
              renamed(m);
              m.removed("ask_city", "ask_again");
            })
            .ask("ask_contact", q -> q.question("email", "E-mail?").question("seats", "Seats?"))
            .ask("ask_again", q -> q.question("city", "Really, which city?"))
            .edge(START, "ask_contact")
            .edge("ask_contact", "ask_again")
            .edge("ask_again", END)
            .compile();
    Driver run = new Driver(flow);
    assertThat(asked(run.takeOver(started(first(), "mail", "m", "size", "3"))))
        .containsExactly("Really, which city?");
    assertThat(asked(run.reset("seats", 4))).containsExactly("Really, which city?");
    assertThat(run.proceed("city", "Rome"))
        .isEqualTo(new Outcome.Complete(Json.tree(new New("m", 4, "Rome", null))));
  }

  @Test
  void versionsThatWereLeftOutAreCarriedOverOneAfterTheOther() {
    Flow<New> third =
        next(MigrationTest::renamed)
            .version(3)
            .migrate(2, m -> m.node("ask_contact", "ask_person").removed("ask_city", "ask_person"))
            .ask("ask_person", q -> q.question("email", "Who?").question("seats", "Seats?"))
            .edge(START, "ask_person")
            .edge("ask_person", END)
            .compile();
    Driver run = new Driver(third);

    assertThat(asked(run.takeOver(started(first(), "mail", "m")))).containsExactly("Seats?");
    assertThat(run.state.version()).isEqualTo(3);
    assertThat(run.journal.stream().filter(Event.Migrated.class::isInstance)).hasSize(2);
    Driver fromTwo = new Driver(third);
    assertThat(asked(fromTwo.takeOver(started(second(MigrationTest::renamed)))))
        .containsExactly("Who?", "Seats?");
  }

  // --- what is known --------------------------------------------------------------------------

  private static Flow<Old> sizing(FlowBuilder<Old> flow, String city) {
    return flow.ask(
            "ask",
            q ->
                q.question("city", city)
                    .question("size", "Which size?", o -> o.validate(MigrationTest::sized)))
        .edge(START, "ask")
        .edge("ask", END)
        .compile();
  }

  private static Verdict sized(String size) {
    return size.equals("?") ? Verdict.reject("Which?") : Verdict.accept().set("city", "Rome");
  }

  @Test
  void anAnswerThatWasRefusedIsNotAskedForIfTheMigrationFillsItsField() {
    Driver before = started(sizing(old(), "City?"), "size", "?");
    assertThat(before.state.at(Place.parse("ask#1")).again()).containsKey("size");

    Driver run =
        moved(
            before,
            sizing(old().version(2).migrate(1, m -> m.state(s -> s.set("size", "L"))), "City?"));

    assertThat(run.state.status()).isEqualTo(RunState.Status.COMPLETED);
  }

  @Test
  void whatAnotherAnswerSetsIsNotAskedForAlsoInTheWordsOfTheNewVersion() {
    Driver before = started(sizing(old(), "City?"));

    Driver run = moved(before, sizing(old().version(2).migrate(1, m -> {}), "Which city?"));

    assertThat(run.state.at(Place.parse("ask#1")).again()).containsOnlyKeys("city");
    run.proceed("size", "L");
    assertThat(run.state.status()).isEqualTo(RunState.Status.COMPLETED);
  }

  @Test
  void aFieldThatAMigrationFillsIsNotAskedFor() {
    Driver run =
        new Driver(
            second(
                m ->
                    m.node("ask_mail", "ask_contact")
                        .field("mail", "email")
                        .state(state -> state.set("seats", 12).set("city", "Rome"))));
    assertThat(asked(run.takeOver(started(first())))).containsExactly("Your e-mail?");
    assertThat(run.proceed("email", "a@b.c"))
        .isEqualTo(new Outcome.Complete(Json.tree(new New("a@b.c", 12, "Rome", null))));
    assertThat(Driver.fold(run.journal)).isEqualTo(run.state);
  }

  @Test
  void aCorrectionKnowsWhatAMigrationFilled() {
    Driver before = started(first(), "mail", "m", "size", "3");
    Driver run =
        new Driver(
            next(m ->
                    m.node("ask_mail", "ask_contact")
                        .field("mail", "email")
                        .state(state -> state.delete("size").set("seats", 12)))
                .ask("ask_contact", q -> q.question("email", "E-mail?"))
                .ask("ask_seats", q -> q.question("seats", "Seats?"))
                .ask("ask_city", q -> q.question("city", "City?"))
                .edge(START, "ask_contact")
                .edge("ask_contact", "ask_seats")
                .edge("ask_seats", "ask_city")
                .edge("ask_city", END)
                .compile());
    run.takeOver(before);

    assertThat(asked(run.reset("email", "x@y.z"))).containsExactly("City?");
  }

  /** Asks for a number and a city as long as there is more, and then for a street. */
  private static FlowBuilder<Flows.Talk> looping(int version) {
    String[] again = {"number", "address.city"};
    return Flows.ask(Flows.ask(Flows.ask(Flows.talk(), again), "flag"), "address.street")
        .version(version)
        .edge(START, "ask_number")
        .edge("ask_number", "ask_flag")
        .decide(
            "ask_flag",
            d -> d.when(eq("flag", true)).to("ask_number").otherwise("ask_address_street"))
        .edge("ask_address_street", END);
  }

  private static Driver rewritten() {
    Map<String, String> address = Map.of("city", "Rome", "street", "Corso");
    Driver run =
        new Driver(
            looping(2)
                .migrate(1, m -> m.state(r -> r.set("number", 2).set("address", address)))
                .compile());
    run.takeOver(started(looping(1).compile(), "number", 1, "address.city", "rome"));
    return run;
  }

  @Test
  void aMigrationThatRewritesAnAnswerDoesNotAnswerTheNextPassOfALoop() {
    assertThat(asked(rewritten().proceed("flag", true)))
        .containsExactly("number?", "address.city?");
  }

  @Test
  void aFieldThatAnEarlierPassEmptiedIsNotAskedForIfAMigrationFillsIt() {
    Driver before = started(loopingOver(1).compile(), "a", "1", "b", "2", "flag", true);
    assertThat(asked(before.proceed("a", "2"))).containsExactly("flag?");
    assertThat(asked(before.proceed("flag", true))).containsExactly("a?", "b?");
    Driver run =
        new Driver(loopingOver(2).migrate(1, m -> m.state(s -> s.set("b", "x"))).compile());

    assertThat(asked(run.takeOver(before))).containsExactly("a?");
  }

  /** Asks for one text and another that may be left open, as long as there is more. */
  private static FlowBuilder<Flows.Talk> loopingOver(int version) {
    return Flows.ask(
            Flows.talk()
                .ask(
                    "ask",
                    q -> q.question("a", "a?").question("b", "b?", QuestionOptions::optional)),
            "flag")
        .version(version)
        .edge(START, "ask")
        .edge("ask", "ask_flag")
        .decide("ask_flag", d -> d.when(eq("flag", true)).to("ask").otherwise(END));
  }

  @Test
  void aMigrationFillsThePartsThatAnObjectDidNotHave() {
    assertThat(rewritten().proceed("flag", false)).isInstanceOf(Outcome.Complete.class);
  }

  // --- questions that other nodes ask ---------------------------------------------------------

  /** Where the mail is asked for: with the city, after it, or before it. */
  private enum Mail {
    WITH_CITY,
    AFTER_CITY,
    BEFORE_CITY
  }

  /**
   * Asks for the city and the mail, notes the mail, and asks for the size; with the size {@code
   * more} all that again, if it loops.
   */
  private static Flow<Old> contacts(FlowBuilder<Old> flow, Mail mail, boolean loops) {
    List<String> nodes = new ArrayList<>(List.of("ask_city"));
    if (mail == Mail.WITH_CITY) {
      flow.ask("ask_city", q -> mail(q.question("city", "City?")));
    } else {
      flow.ask("ask_city", q -> q.question("city", "City?")).ask("ask_mail", MigrationTest::mail);
      nodes.add(mail == Mail.AFTER_CITY ? 1 : 0, "ask_mail");
    }
    flow.act("note", run -> run.set("log", "to " + run.state().mail()))
        .ask("ask_size", q -> q.question("size", "Size?"));
    nodes.addAll(List.of("note", "ask_size"));
    flow.edge(START, nodes.get(0));
    for (int i = 1; i < nodes.size(); i++) {
      flow.edge(nodes.get(i - 1), nodes.get(i));
    }
    return loops
        ? flow.decide("ask_size", d -> d.when(eq("size", "more")).to(nodes.get(0)).otherwise(END))
            .compile()
        : flow.edge("ask_size", END).compile();
  }

  private static Questions<Old> mail(Questions<Old> ask) {
    return ask.question(
        "mail",
        "Mail?",
        o ->
            o.validate(
                (String mail) ->
                    mail.contains("@") ? Verdict.accept() : Verdict.reject("No address.")));
  }

  private static Driver moved(Driver before, Flow<Old> flow) {
    Driver run = new Driver(flow);
    run.takeOver(before);
    assertThat(run.state.version()).isEqualTo(flow.version());
    return run;
  }

  private static Flow<Old> moving(Mail mail, boolean loops) {
    return contacts(old().version(2).migrate(1, m -> {}), mail, loops);
  }

  private static void sameAgain(Driver run) {
    assertThat(Driver.fold(run.journal)).isEqualTo(run.state);
    Replay.of(run.program.flow(), RunJournal.of("order", run.state.runId(), journal(run)))
        .requireSame();
  }

  @Test
  void anAnswerThatAnotherNodeAsksForStandsUntilItIsCorrected() {
    for (Mail asked : List.of(Mail.AFTER_CITY, Mail.BEFORE_CITY)) {
      Driver before =
          started(contacts(old(), Mail.WITH_CITY, false), "city", "Ulm", "mail", "a@b.c");
      Driver run = moved(before, moving(asked, false));

      assertThat(Driver.code(run.proceed("mail", "other"))).isEqualTo("already_answered");
      assertThat(run.state.data().path("mail").asText()).isEqualTo("a@b.c");
      assertThat(asked(run.reset("mail", "x@y.z"))).containsExactly("Size?");
      assertThat(run.state.data().path("log").asText()).isEqualTo("to x@y.z");
      assertThat(run.state.data().path("city").asText()).isEqualTo("Ulm");
      sameAgain(run);
    }
  }

  @Test
  void aCorrectionOfAnAnswerThatAnotherNodeAsksForIsJudged() {
    Driver before = started(contacts(old(), Mail.WITH_CITY, false), "city", "Ulm", "mail", "a@b.c");
    Driver run = moved(before, moving(Mail.AFTER_CITY, false));

    assertThat(Driver.violated(run.reset("mail", "none"))).containsExactly("mail");
    assertThat(asked(run.proceed("mail", "x@y.z"))).containsExactly("Size?");
  }

  @Test
  void anAnswerThatAnotherNodeAsksForCountsForOnePassOfALoop() {
    for (Mail asked : List.of(Mail.AFTER_CITY, Mail.BEFORE_CITY)) {
      Driver before =
          started(contacts(old(), Mail.WITH_CITY, true), "city", "Ulm", "mail", "a@b.c");
      Driver run = moved(before, moving(asked, true));
      run.proceed("size", "more");
      List<String> questions = new ArrayList<>();
      for (String field : List.of("city", "mail", "city")) {
        if (run.state.places().keySet().stream().anyMatch(p -> p.node().equals("ask_" + field))) {
          questions.add(field);
          run.proceed(field, "new@x");
        }
      }

      assertThat(questions).containsExactlyInAnyOrder("city", "mail");
      assertThat(run.state.places()).containsKey(Place.parse("ask_size#2"));
      sameAgain(run);
    }
  }

  @Test
  void aQuestionThatANodeTakesOverFromOneThatIsGoneIsAskedInTheNextPass() {
    Driver before = started(contacts(old(), Mail.AFTER_CITY, true), "city", "Ulm");
    before.proceed("mail", "a@b.c");
    Driver run =
        moved(
            before,
            contacts(
                old().version(2).migrate(1, m -> m.removed("ask_mail", "ask_city")),
                Mail.WITH_CITY,
                true));

    assertThat(asked(run.proceed("size", "more"))).containsExactly("City?", "Mail?");
    sameAgain(run);
  }

  @Test
  void anAnswerOfThisPassCountsWhereItsQuestionIsStillToCome() {
    Driver before = started(contacts(old(), Mail.WITH_CITY, true), "mail", "a@b.c");
    Driver run = moved(before, moving(Mail.AFTER_CITY, true));

    assertThat(asked(run.proceed("city", "Ulm"))).containsExactly("Size?");
    assertThat(run.state.data().path("log").asText()).isEqualTo("to a@b.c");
    sameAgain(run);
  }

  @Test
  void anAnswerOfAnEarlierPassDoesNotCountWhereItsQuestionIsStillToCome() {
    Driver before = started(contacts(old(), Mail.WITH_CITY, true), "city", "Ulm", "mail", "a@b.c");
    before.proceed("size", "more");
    Driver run = moved(before, moving(Mail.AFTER_CITY, true));

    assertThat(asked(run.proceed("city", "Bonn"))).containsExactly("Mail?");
    assertThat(asked(run.proceed("mail", "x@y.z"))).containsExactly("Size?");
    sameAgain(run);
  }

  @Test
  void aCorrectionAfterAMigrationAsksNothingAgainThatAnotherNodeAsksFor() {
    Driver before =
        started(
            Flows.chain(
                    old()
                        .ask("ask_city", q -> mail(q.question("city", "City?")))
                        .ask("ask_size", q -> q.question("size", "Size?"))
                        .waitFor("wait", "go"),
                    "ask_city",
                    "ask_size",
                    "wait")
                .compile(),
            "city",
            "Ulm",
            "mail",
            "a@b.c");
    before.proceed("size", "1");
    Driver run =
        moved(
            before,
            Flows.chain(
                    old()
                        .version(2)
                        .migrate(1, m -> {})
                        .ask("ask_city", q -> q.question("city", "City?"))
                        .ask("ask_size", q -> q.question("size", "Size?"))
                        .ask("ask_mail", MigrationTest::mail)
                        .waitFor("wait", "go"),
                    "ask_city",
                    "ask_size",
                    "ask_mail",
                    "wait")
                .compile());

    assertThat(run.reset("size", "2")).isInstanceOf(Outcome.Waiting.class);
    assertThat(Driver.code(run.proceed("mail", "other"))).isEqualTo("already_answered");
    sameAgain(run);
  }

  @Test
  void whatABranchAnsweredStandsWhereAnotherNodeOfTheBranchAsksForIt() {
    Driver before = started(branching(old(), false), "city", "Ulm", "mail", "a@b.c");
    Driver run = moved(before, branching(old().version(2).migrate(1, m -> {}), true));

    assertThat(Driver.code(run.proceed("mail", "other"))).isEqualTo("already_answered");
    assertThat(run.reset("mail", "x@y.z")).isInstanceOf(Outcome.Waiting.class);
    assertThat(run.state.branches().values().stream().map(b -> b.memory().data().path("log")))
        .contains(Json.tree("to x@y.z"));
    sameAgain(run);
  }

  /** Asks for the city and the mail in a branch that then waits, beside another that waits, too. */
  private static Flow<Old> branching(FlowBuilder<Old> flow, boolean split) {
    flow.act("begin", run -> {})
        .act("note", run -> run.set("log", "to " + run.state().mail()))
        .waitFor("hold", "go")
        .waitFor("other", "further")
        .edge(START, "begin")
        .fork("begin", f -> f.branch("ask_city").branch("other").join(END))
        .edge("note", "hold")
        .edge("hold", END)
        .edge("other", END);
    return split
        ? flow.ask("ask_city", q -> q.question("city", "City?"))
            .ask("ask_mail", MigrationTest::mail)
            .edge("ask_city", "ask_mail")
            .edge("ask_mail", "note")
            .compile()
        : flow.ask("ask_city", q -> mail(q.question("city", "City?")))
            .edge("ask_city", "note")
            .compile();
  }

  /**
   * Asks for the mail and the city in a branch, for the size in another, and then waits: the first
   * branch to end wins.
   *
   * @param again whether the wait comes in a branch of a second fork
   */
  private static Flow<Old> racing(FlowBuilder<Old> flow, boolean again) {
    flow.ask("ask_mail", q -> mail(q).question("city", "City?"))
        .ask("ask_size", q -> q.question("size", "Size?"))
        .act("then", run -> {})
        .waitFor("hold", "go")
        .fork(START, f -> f.branch("ask_mail").branch("ask_size").first().join("then"))
        .edge("ask_mail", "then")
        .edge("ask_size", "then")
        .edge("hold", END);
    return again
        ? flow.waitFor("other", "further")
            .fork("then", f -> f.branch("hold").branch("other").join(END))
            .edge("other", END)
            .compile()
        : flow.edge("then", "hold").compile();
  }

  @Test
  void aMigrationThatMovesNoQuestionLeavesAnAnswerOfALostBranchAsItWas() {
    for (boolean again : List.of(false, true)) {
      Driver before = started(racing(old(), again), "mail", "a@b.c");
      before.proceed("size", "1");
      Driver run = moved(before, racing(old().version(2).migrate(1, m -> {}), again));

      for (Driver each : List.of(before, run)) {
        assertThat(each.proceed("mail", "x@y.z")).isInstanceOf(Outcome.Waiting.class);
        assertThat(each.state.data().path("mail").asText()).isEqualTo("x@y.z");
      }
      assertNothingRelocated(run);
      sameAgain(run);
    }
  }

  @Test
  void anAnswerOfTheBranchThatWonStandsWhereAnotherNodeOfTheBranchAsksForIt() {
    Driver before = started(winning(old(), false), "size", "1", "mail", "a@b.c");
    Driver run = moved(before, winning(old().version(2).migrate(1, m -> {}), true));

    assertThat(run.state.memory("").left()).containsKey("ask_mail");
    assertThat(Driver.code(run.proceed("mail", "other"))).isEqualTo("already_answered");
    sameAgain(run);
  }

  private static Flow<Old> winning(FlowBuilder<Old> flow, boolean split) {
    flow.ask("ask_city", q -> q.question("city", "City?"))
        .waitFor("hold", "go")
        .fork(START, f -> f.branch("ask_city").branch("ask_size").first().join("hold"))
        .edge("ask_city", "hold")
        .edge("hold", END);
    return split
        ? flow.ask("ask_size", q -> q.question("size", "Size?"))
            .ask("ask_mail", MigrationTest::mail)
            .edge("ask_size", "ask_mail")
            .edge("ask_mail", "hold")
            .compile()
        : flow.ask("ask_size", q -> mail(q.question("size", "Size?")))
            .edge("ask_size", "hold")
            .compile();
  }

  private static void assertNothingRelocated(Driver run) {
    assertThat(run.journal)
        .filteredOn(Event.Migrated.class::isInstance)
        .singleElement()
        .extracting(event -> ((Event.Migrated) event).relocated())
        .isNull();
  }

  record Guests(List<String> people) {}

  record Visit(String country, @Computed @Nullable String log, String mail) {}

  /** Asks a guest for a country and a mail, and then waits. */
  private static Flow<Visit> visit(boolean split) {
    FlowBuilder<Visit> visit =
        Flow.of("visit", Visit.class).description("Asks a guest.").waitFor("hold", "go");
    if (split) {
      visit
          .ask("ask_country", q -> q.question("country", "Country?"))
          .ask("ask_mail", q -> q.question("mail", "Mail?"));
      Flows.chain(visit, "ask_country", "ask_mail", "hold");
    } else {
      visit.ask("ask_country", q -> q.question("country", "Country?").question("mail", "Mail?"));
      Flows.chain(visit, "ask_country", "hold");
    }
    return visit.compile();
  }

  private static Flow<Guests> visits(int version, boolean split) {
    FlowBuilder<Guests> guests =
        Flow.of("order", Guests.class).description("Asks guests.").version(version);
    if (version > 1) {
      guests.migrate(1, m -> {});
    }
    return Flows.chain(
            guests
                .ask("ask_people", q -> q.question("people", "Who?"))
                .<Visit, String>forEach(
                    "each", visit(split), o -> o.items(Guests::people).atMost(3)),
            "ask_people",
            "each")
        .compile();
  }

  @Test
  void anAnswerOfAnItemCountsWhereTheItemIsAndStandsWhereItHasPassed() {
    Driver before = started(visits(1, false), "people", List.of("Ann", "Bob"));
    before.proceed("each.0.country", "Italy", "each.0.mail", "a@b.c", "each.1.mail", "b@b.c");
    Driver run = new Driver(visits(2, true));
    run.takeOver(before);

    assertThat(run.state.branch("each#1:0").memory().left()).containsKey("each/ask_mail");
    assertThat(run.state.branch("each#1:1").memory().left()).doesNotContainKey("each/ask_mail");
    assertThat(Driver.code(run.proceed("each.0.mail", "other"))).isEqualTo("already_answered");
    assertThat(run.proceed("each.1.country", "Norway")).isInstanceOf(Outcome.Waiting.class);
    assertThat(run.state.places())
        .containsKey(Place.parse("each#1:0|each/hold#1"))
        .containsKey(Place.parse("each#1:1|each/hold#1"));
    sameAgain(run);
  }

  record Trip(String size) {}

  private static FlowBuilder<Trip> trip(int version, boolean split) {
    FlowBuilder<Trip> trip =
        Flow.of("order", Trip.class)
            .description("Goes.")
            .version(version)
            .subflow("visit", visit(split), o -> {});
    return version > 1 ? trip.migrate(1, m -> {}) : trip;
  }

  @Test
  void anAnswerOfASubflowStandsWhereAnotherNodeOfItAsksForIt() {
    Driver before =
        started(
            Flows.chain(trip(1, false), "visit").compile(),
            "visit.country",
            "Italy",
            "visit.mail",
            "a@b.c");
    Driver run = new Driver(Flows.chain(trip(2, true), "visit").compile());
    run.takeOver(before);

    assertThat(run.state.memory("").left()).containsKey("visit/ask_mail");
    assertThat(Driver.code(run.proceed("visit.mail", "other"))).isEqualTo("already_answered");
    sameAgain(run);
  }

  /** Visits in a branch, asks for the size in another, and then waits: the first to end wins. */
  private static Flow<Trip> racing(FlowBuilder<Trip> trip) {
    return trip.ask("ask_size", q -> q.question("size", "Size?"))
        .waitFor("hold", "go")
        .fork(START, f -> f.branch("visit").branch("ask_size").first().join("hold"))
        .edge("visit", "hold")
        .edge("ask_size", "hold")
        .edge("hold", END)
        .compile();
  }

  @Test
  void aMigrationThatMovesNoQuestionLeavesAnAnswerOfALostSubflowAsItWas() {
    Driver before = started(racing(trip(1, false)), "visit.mail", "a@b.c");
    before.proceed("size", "1");
    assertThat(before.state.memory("").accepted("visit.mail")).isPositive();
    Driver run = new Driver(racing(trip(2, false)));
    run.takeOver(before);

    assertThat(run.state.version()).isEqualTo(2);
    assertNothingRelocated(run);
    sameAgain(run);
  }

  // --- waits ----------------------------------------------------------------------------------

  private static FlowBuilder<Old> patient(FlowBuilder<Old> flow, int days) {
    return unbounded(flow)
        .act("late", run -> run.set("log", "late"))
        .edge("late", END)
        .deadline("ask", Duration.ofDays(days), "late");
  }

  private static FlowBuilder<Old> unbounded(FlowBuilder<Old> flow) {
    return Flows.chain(flow.ask("ask", q -> q.question("city", "City?")), "ask");
  }

  @Test
  void aDeadlineThatBeganIsKept() {
    Driver before = started(patient(old(), 1).compile());
    Long deadline = deadline(before);
    Driver run = new Driver(patient(old(), 9).version(2).migrate(1, m -> {}).compile());
    before.now += 5_000;
    run.takeOver(before);

    assertThat(deadline(run)).isEqualTo(deadline);
    run.pass();
    assertThat(run.state.data().path("log").asText()).isEqualTo("late");
  }

  private static FlowBuilder<Old> reminding(FlowBuilder<Old> flow, int times) {
    return flow.remind("ask", Duration.ofHours(1), times, run -> {});
  }

  private static long reminders(Driver run) {
    return run.journal.stream().filter(Event.Reminded.class::isInstance).count();
  }

  @Test
  void aDeadlineThatIsNewBesideRemindersBeginsWithTheVersion() {
    Driver before = started(reminding(unbounded(old()), 2).compile());
    before.pass();
    Driver run =
        new Driver(reminding(patient(old(), 1), 2).version(2).migrate(1, m -> {}).compile());
    run.takeOver(before);

    assertThat(deadline(run)).isEqualTo(run.now - 1 + Duration.ofDays(1).toMillis());
    run.pass();
    assertThat(reminders(run)).isEqualTo(2);
    run.pass();
    assertThat(run.state.data().path("log").asText()).isEqualTo("late");
  }

  @Test
  void remindersThatAreNewBesideADeadlineBeginWithTheVersion() {
    Driver before = started(patient(old(), 1).compile());
    Long deadline = deadline(before);
    before.now += 5_000;
    Driver run =
        new Driver(reminding(patient(old(), 9), 1).version(2).migrate(1, m -> {}).compile());
    run.takeOver(before);

    assertThat(deadline(run)).isEqualTo(deadline);
    run.pass();
    assertThat(reminders(run)).isEqualTo(1);
    run.pass();
    assertThat(run.state.data().path("log").asText()).isEqualTo("late");
  }

  @Test
  void remindersThatWereAllSentAreNotSentAgain() {
    Driver before = started(reminding(unbounded(old()), 2).compile());
    before.pass();
    before.pass();
    for (int times : List.of(1, 2)) {
      Driver run =
          new Driver(reminding(unbounded(old()), times).version(2).migrate(1, m -> {}).compile());
      run.takeOver(before);
      assertThat(run.timers()).noneMatch(timer -> timer.kind() == StepEffect.Kind.REMIND);
    }
  }

  private static @Nullable Long deadline(Driver run) {
    return run.state.places().values().iterator().next().deadline();
  }

  @Test
  void aSleepEndsWhenItWasToEnd() {
    Driver before = started(Flows.chain(old().sleep("nap", Duration.ofDays(1)), "nap").compile());
    Driver run =
        new Driver(
            Flows.chain(
                    old()
                        .version(2)
                        .migrate(1, m -> m.node("nap", "rest"))
                        .sleep("rest", Duration.ofDays(7)),
                    "rest")
                .compile());
    long until =
        ((Phase.Sleeping) before.state.places().values().iterator().next().phase()).until();
    run.takeOver(before);
    assertThat(run.state.places().values().iterator().next().phase())
        .isEqualTo(new Phase.Sleeping(until));
  }

  // --- branches, sub-flows, compensations -----------------------------------------------------

  /** Asks for the city in one branch, and for the street in another. */
  private static FlowBuilder<Flows.Talk> addressed(int version) {
    return Flows.ask(Flows.ask(Flows.ask(Flows.talk(), "address.city"), "address.street"), "a")
        .version(version)
        .fork(START, f -> f.branch("ask_address_city").branch("ask_address_street").join("ask_a"))
        .edge("ask_address_city", "ask_a")
        .edge("ask_address_street", "ask_a")
        .edge("ask_a", END);
  }

  @Test
  void whatAMigrationMergesBesideTheAnswersOfBranchesDoesNotMakeThemDisagree() {
    Driver run =
        new Driver(
            addressed(2)
                .migrate(1, m -> m.state(r -> r.merge("address", Map.of("street", "Corso"))))
                .compile());
    run.takeOver(started(addressed(1).compile()));
    assertThat(asked(run.proceed("address.city", "Rome"))).containsExactly("a?");
    assertThat(run.state.data().path("address"))
        .isEqualTo(Json.tree(new Flows.Address("Corso", "Rome")));
    assertThat(asked(run.reset("address.street", "Via"))).containsExactly("a?");
    assertThat(run.state.data().path("address"))
        .isEqualTo(Json.tree(new Flows.Address("Via", "Rome")));
  }

  private static Flow<Old> forked(FlowBuilder<Old> flow, String first, String second, String city) {
    return flow.act("begin", run -> {})
        .ask(first, q -> q.question("mail", "Mail?"))
        .ask(second, q -> q.question("size", "Size?"))
        .ask("wait", q -> q.question("city", city))
        .edge(START, "begin")
        .fork("begin", f -> f.branch(first).branch(second).join("wait"))
        .edge(first, "wait")
        .edge(second, "wait")
        .edge("wait", END)
        .compile();
  }

  @Test
  void branchesOfAForkAreCarriedOverWithTheirNames() {
    Driver before = started(forked(old(), "left", "right", "City?"));
    before.proceed("size", "1");
    Driver run =
        new Driver(
            forked(
                old().version(2).migrate(1, m -> m.node("left", "west").node("right", "east")),
                "west",
                "east",
                "Which?"));

    assertThat(asked(run.takeOver(before))).containsExactly("Mail?");
    assertThat(asked(run.proceed("mail", "m"))).containsExactly("Which?");
    assertThat(run.state.data().path("size").asText()).isEqualTo("1");
  }

  @Test
  void aRunInBranchesThatAreOthersNowIsRefused() {
    Driver before = started(forked(old(), "left", "right", "City?"));
    Flow<Old> line =
        old()
            .version(2)
            .migrate(1, m -> {})
            .act("begin", run -> {})
            .ask("left", q -> q.question("mail", "Mail?"))
            .ask("right", q -> q.question("size", "Size?"))
            .edge(START, "begin")
            .edge("begin", "left")
            .edge("left", "right")
            .edge("right", END)
            .compile();
    assertThat(refused(before, line)).contains("begin").contains("branches");
  }

  private static Flow<Old> mounting(FlowBuilder<Old> flow, String mount, String city) {
    Flow<Old> inner =
        Flow.of("inner", Old.class)
            .description("Inner.")
            .result(state -> state)
            .ask("ask", q -> q.question("mail", "Mail?").question("city", city))
            .edge(START, "ask")
            .edge("ask", END)
            .compile();
    return flow.subflow(mount, inner, s -> {}).edge(START, mount).edge(mount, END).compile();
  }

  @Test
  void aSubflowTakesItsStateAlongWhenItsNodeIsRenamed() {
    Driver before = started(mounting(old(), "person", "City?"));
    before.proceed("person.mail", "m");
    Driver run =
        new Driver(
            mounting(
                old().version(2).migrate(1, m -> m.node("person", "guest")), "guest", "Where?"));

    assertThat(asked(run.takeOver(before))).containsExactly("Where?");
    assertThat(run.state.data().at("/guest/mail").asText()).isEqualTo("m");
    assertThat(run.proceed("guest.city", "Rome")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aCompensationIsGivenTheStateInItsNewShape() {
    List<String> undone = new ArrayList<>();
    Driver before =
        started(
            Flows.chain(
                    old()
                        .ask("ask", q -> q.question("size", "Size?"))
                        .act("book", run -> run.set("log", "booked"))
                        .compensate("book", run -> {})
                        .ask("then", q -> q.question("city", "City?")),
                    "ask",
                    "book",
                    "then")
                .compile(),
            "size",
            "7");
    FlowBuilder<New> flow =
        next(m -> m.field("size", "seats").state(MigrationTest::counted))
            .ask("ask", q -> q.question("seats", "Seats?"))
            .act("book", run -> run.set("log", "booked"))
            .compensate("book", run -> undone.add(run.state().seats() + " " + run.undoes()))
            .ask("then", q -> q.question("city", "City?"));
    Driver run = new Driver(Flows.chain(flow, "ask", "book", "then").compile());
    run.takeOver(before);
    run.cancel();

    assertThat(undone).containsExactly("7 run-1/book#1");
  }

  record Details(String age, String size) {}

  record Named(String name, String mail) {}

  record Aged(String name, String age, String mail) {}

  /** Asks for the age and the size, in branches if it forks. */
  private static Flow<Details> details(String ask, boolean forks) {
    FlowBuilder<Details> details =
        Flow.of("details", Details.class)
            .description("Asks for details.")
            .act("begin", run -> {})
            .ask(ask, q -> q.question("age", "Age?"))
            .ask("ask_size", q -> q.question("size", "Size?"))
            .edge(START, "begin");
    return forks
        ? details
            .act("then", run -> {})
            .fork("begin", f -> f.branch(ask).branch("ask_size").join("then"))
            .edge(ask, "then")
            .edge("ask_size", "then")
            .edge("then", END)
            .compile()
        : details.edge("begin", ask).edge(ask, "ask_size").edge("ask_size", END).compile();
  }

  private static Flow<Named> detailed(FlowBuilder<Named> flow, Flow<Details> details) {
    return Flows.chain(
            flow.ask("ask_name", q -> q.question("name", "Name?"))
                .subflow("details", details, o -> {})
                .ask("ask_mail", q -> q.question("mail", "Mail?")),
            "ask_name",
            "details",
            "ask_mail")
        .compile();
  }

  private static FlowBuilder<Named> named(int version) {
    return Flow.of("order", Named.class).description("Orders.").version(version);
  }

  /** Without the sub-flow, which version 1 or 2 had; the age that it asked for is kept. */
  private static Flow<Aged> simplified(int from, Consumer<FlowBuilder<Aged>> further) {
    FlowBuilder<Aged> flow =
        Flow.of("order", Aged.class)
            .description("Orders.")
            .version(from + 1)
            .migrate(
                from,
                m ->
                    m.removed("details", "ask_mail")
                        .field("details.age", "age")
                        .state(run -> run.delete("details")));
    further.accept(flow);
    return Flows.chain(
            flow.ask("ask_name", q -> q.question("name", "Name?"))
                .ask("ask_mail", q -> q.question("mail", "Your mail?").question("age", "Age?")),
            "ask_name",
            "ask_mail")
        .result(state -> state)
        .compile();
  }

  @Test
  void aRunInASubflowThatIsGoneContinuesWhereTheAuthorSays() {
    Driver before = started(detailed(named(1), details("ask_age", false)), "name", "Ann");
    before.proceed("details.age", "9");
    assertThat(before.state.places()).containsKey(Place.parse("details/ask_size#1"));
    Driver run = new Driver(simplified(1, flow -> {}));

    assertThat(asked(run.takeOver(before))).containsExactly("Your mail?");
    assertThat(run.state.places().keySet()).containsExactly(Place.parse("ask_mail#1"));
    assertThat(asked(run.reset("name", "Bob"))).containsExactly("Your mail?");
    assertThat(asked(run.reset("age", "8"))).containsExactly("Your mail?");
    assertThat(run.proceed("mail", "m"))
        .isEqualTo(new Outcome.Complete(Json.tree(new Aged("Bob", "8", "m"))));
    sameAgain(run);
  }

  @Test
  void aMigrationStaysThatNamesANodeOfASubflowThatIsGoneLater() {
    Driver before = started(detailed(named(1), details("ask_years", false)), "name", "Ann");
    Driver run =
        new Driver(
            simplified(
                2, flow -> flow.migrate(1, m -> m.node("details/ask_years", "details/ask_age"))));

    assertThat(asked(run.takeOver(before))).containsExactly("Your mail?", "Age?");
    assertThat(run.state.version()).isEqualTo(3);
    sameAgain(run);
  }

  @Test
  void aRunInBranchesOfASubflowThatIsGoneIsRefused() {
    Driver before = started(detailed(named(1), details("ask_age", true)), "name", "Ann");
    Driver items = started(visits(1, false), "people", List.of("Ann", "Bob"));
    Flow<Guests> alone =
        Flows.chain(
                Flow.of("order", Guests.class)
                    .description("Asks guests.")
                    .version(2)
                    .migrate(1, m -> m.removed("each", "ask_more").state(run -> run.delete("each")))
                    .ask("ask_people", q -> q.question("people", "Who?"))
                    .ask("ask_more", q -> q.question("people", "Who else?")),
                "ask_people",
                "ask_more")
            .compile();

    assertThat(refused(before, simplified(1, flow -> {})))
        .contains("it is at details/")
        .contains("unless a fork or a list lies between");
    assertThat(refused(items, alone)).contains("it is at each/ask_country");
  }

  // --- what is refused ------------------------------------------------------------------------

  @Test
  void aPlaceThatTheNewVersionDoesNotHaveIsNamed() {
    Flow<New> flow = second(m -> m.field("mail", "email").field("size", "seats"));
    assertThat(refused(started(first()), flow))
        .contains("version 1")
        .contains("version 2")
        .contains("ask_mail")
        .contains("removed(…)");
  }

  @Test
  void aFieldThatTheNewVersionDoesNotHaveIsNamed() {
    Flow<New> flow = second(m -> m.node("ask_mail", "ask_contact").field("mail", "email"));
    assertThat(refused(started(first(), "size", "12"), flow)).contains("size").contains("delete");
  }

  @Test
  void aStateThatTheNewVersionCannotReadIsRefused() {
    Flow<New> flow =
        second(
            m -> m.node("ask_mail", "ask_contact").field("mail", "email").field("size", "seats"));
    assertThat(refused(started(first(), "size", "many"), flow))
        .contains("cannot be read", "seats is not of type Integer")
        .doesNotContain("many");
  }

  record Person(String name, String age) {}

  record Grown(String name, String years) {}

  record Counted(String name, Integer age) {}

  record People(List<String> names, @Computed List<Person> people) {}

  record GrownPeople(List<String> names, @Computed List<Grown> people) {}

  record CountedPeople(List<String> names, @Computed List<Counted> people) {}

  /** Asks each of several for an age, and then waits. */
  private static <P extends Record, I extends Record> FlowBuilder<P> people(
      Class<P> state, int version, Class<I> item, String age) {
    Flow<I> person =
        Flows.chain(
                Flow.of("person", item)
                    .description("Asks for an age.")
                    .ask("ask_name", q -> q.question("name", "Name?"))
                    .ask("ask_age", q -> q.question(age, "Age?")),
                "ask_name",
                "ask_age")
            .result(done -> done)
            .compile();
    return Flows.chain(
        Flow.of("order", state)
            .description("Asks for ages.")
            .version(version)
            .ask("ask_names", q -> q.question("names", "Who?"))
            .<I, String>forEach(
                "each", person, o -> o.items(MigrationTest::names).atMost(3).into("people"))
            .waitFor("hold", "go"),
        "ask_names",
        "each",
        "hold");
  }

  private static List<String> names(Record people) {
    List<String> names = new ArrayList<>();
    Json.tree(people).path("names").forEach(name -> names.add(name.asText()));
    return names;
  }

  private static Driver twoPeople() {
    return started(
        people(People.class, 1, Person.class, "age").compile(), "names", List.of("Ann", "Bob"));
  }

  private static void renamedInList(Migration m) {
    m.field("each.*.age", "each.*.years");
  }

  @Test
  void aPartOfAnElementThatTheNewVersionDoesNotHaveIsNamed() {
    Driver before = twoPeople();
    before.proceed("each.0.name", "Ann", "each.0.age", "9", "each.1.name", "Bob");
    before.proceed("each.1.age", "8");
    assertThat(before.state.data().at("/people/1/age").asText()).isEqualTo("8");
    FlowBuilder<GrownPeople> next = people(GrownPeople.class, 2, Grown.class, "years");
    FlowBuilder<GrownPeople> rewriting = people(GrownPeople.class, 2, Grown.class, "years");

    assertThat(refused(before, next.migrate(1, MigrationTest::renamedInList).compile()))
        .contains("its state has people.*.age, which version 2 does not have");
    Driver run = new Driver(rewriting.migrate(1, m -> m.state(MigrationTest::grown)).compile());
    assertThat(run.takeOver(before)).isInstanceOf(Outcome.Waiting.class);
    assertThat(run.state.data().at("/people/1/years").asText()).isEqualTo("8");
  }

  private static void grown(Migrating run) {
    List<Person> people = run.state(People.class).people();
    if (people != null) {
      run.set("people", people.stream().map(p -> new Grown(p.name(), p.age())).toList());
    }
  }

  @Test
  void anItemThatHasEndedWithWhatTheNewVersionCannotKeepIsRefused() {
    Driver before = twoPeople();
    before.proceed("each.0.name", "Ann", "each.0.age", "many");
    Flow<GrownPeople> renamed =
        people(GrownPeople.class, 2, Grown.class, "years")
            .migrate(1, MigrationTest::renamedInList)
            .compile();
    Flow<CountedPeople> retyped =
        people(CountedPeople.class, 2, Counted.class, "age").migrate(1, m -> {}).compile();

    assertThat(refused(before, renamed))
        .contains("items of each have ended with people.*.age, which version 2 does not have");
    assertThat(refused(before, retyped))
        .contains("cannot be read", "people.0.age is not of type Integer")
        .doesNotContain("many");
  }

  record Derived(String name, String age) {
    public boolean isOld() {
      return age != null && age.length() > 1;
    }

    @JsonProperty("label")
    public String labelled() {
      return name + ", " + age;
    }
  }

  record DerivedPeople(List<String> names, @Computed List<Derived> people) {}

  @Test
  void whatAnElementDerivesFromItsFieldsNeedsNoFieldInTheNewVersion() {
    Driver before =
        started(
            people(DerivedPeople.class, 1, Derived.class, "age").compile(),
            "names",
            List.of("Ann", "Bob"));
    before.proceed("each.0.name", "Ann", "each.0.age", "9");
    assertThat(before.proceed("each.1.name", "Bob", "each.1.age", "80"))
        .isInstanceOf(Outcome.Waiting.class);
    assertThat(before.state.data().at("/people/1/old").asBoolean()).isTrue();
    Driver run =
        new Driver(
            people(DerivedPeople.class, 2, Derived.class, "age").migrate(1, m -> {}).compile());

    assertThat(run.takeOver(before)).isInstanceOf(Outcome.Waiting.class);
    assertThat(run.state.version()).isEqualTo(2);
  }

  record RelatedPeople(List<String> names, @Computed List<Person> people) {
    RelatedPeople {
      if (people != null && (names == null || people.size() != names.size())) {
        throw new IllegalArgumentException("There is one person for each name.");
      }
    }
  }

  @Test
  void whatItemsHaveEndedWithNeedsNoOtherFieldYet() {
    Driver before =
        started(
            people(RelatedPeople.class, 1, Person.class, "age").compile(),
            "names",
            List.of("Ann", "Bob"));
    before.proceed("each.0.name", "Ann", "each.0.age", "9");
    Driver run =
        new Driver(
            people(RelatedPeople.class, 2, Person.class, "age").migrate(1, m -> {}).compile());

    assertThat(asked(run.takeOver(before))).containsExactly("Name?");
    assertThat(run.proceed("each.1.name", "Bob", "each.1.age", "8"))
        .isInstanceOf(Outcome.Waiting.class);
  }

  @Test
  void aMigrationThatThrowsLeavesTheRunAsItWas() {
    Flow<New> flow = second(MigrationTest::renamed);
    assertThat(refused(started(first(), "size", "many"), flow))
        .contains("the migration from version 1 failed")
        .doesNotContain("many");
  }

  private static FlowBuilder<Old> acting(FlowBuilder<Old> flow, String node) {
    return Flows.chain(
        flow.act(
                node,
                run -> {
                  throw new StepException("No.");
                })
            .compensate(node, run -> {}),
        node);
  }

  @Test
  void aStepThatIsAtWorkIsFinishedByTheVersionThatBeganIt() {
    Driver before = new Driver(acting(old(), "act").compile());
    before.feed(new Input.Start("r", "why", Json.object(), 1));
    Flow<Old> flow = acting(old().version(2).migrate(1, m -> {}), "act").compile();
    assertThat(refused(before, flow)).contains("act is at work").contains("Register the version");
  }

  @Test
  void aStepThatFailedIsTriedAgainInTheNewVersionUnderItsName() {
    Driver before = started(acting(old(), "act").compile());
    Flow<Old> repaired =
        Flows.chain(
                old().version(2).migrate(1, m -> {}).act("act", run -> run.set("log", "done")),
                "act")
            .compile();
    Driver run = new Driver(repaired);
    assertThat(run.takeOver(before)).isInstanceOf(Outcome.Failure.class);
    assertThat(run.state.version()).isEqualTo(2);
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(run.journal)
        .anyMatch(
            event ->
                event instanceof Event.Attempted again
                    && again.place().equals(Place.parse("act#1"))
                    && again.attempt() == 2);

    Flow<Old> named = acting(old().version(2).migrate(1, m -> m.node("act", "do")), "do").compile();
    assertThat(refused(before, named)).contains("act has begun and must keep its name");
  }

  private static Flow<Old> checking(FlowBuilder<Old> flow, Consumer<QuestionOptions<Old>> check) {
    return Flows.chain(flow.ask("ask", q -> q.question("city", "City?", check)), "ask").compile();
  }

  @Test
  void anAnswerWhoseCheckFailedIsJudgedByTheValidatorOfTheNewVersion() {
    Driver before =
        started(
            checking(
                old(),
                o ->
                    o.validateAsync(
                        (String city) -> {
                          throw new StepException("No.");
                        })),
            "city",
            "rome");
    Driver run =
        new Driver(
            checking(
                old().version(2).migrate(1, m -> {}),
                o -> o.validate((String city) -> Verdict.accept("Rome"))));
    run.takeOver(before);

    assertThat(Driver.result(run.proceed()).path("city").asText()).isEqualTo("Rome");
  }

  /** Runs whose answer could not be checked, given ahead and once it was asked for. */
  private static List<Driver> unchecked() {
    Flow<Old> flow = checking(old(), o -> o.validate(MigrationTest::broken));
    Driver asked = started(flow);
    asked.proceed("city", "rome");
    return List.of(started(flow, "city", "rome"), asked);
  }

  private static Verdict broken(String answer) {
    throw new IllegalStateException("Nobody can judge " + answer);
  }

  @Test
  void theVersionThatTakesOverJudgesAnAnswerWhoseCheckFailedOrAsksAgain() {
    for (Driver before : unchecked()) {
      Flow<Old> accepting =
          checking(
              old().version(2).migrate(1, m -> {}),
              o -> o.validate((String city) -> Verdict.accept("Rome")));
      Flow<Old> rejecting =
          checking(
              old().version(2).migrate(1, m -> {}),
              o -> o.validate((String city) -> Verdict.reject("Which one?")));
      Driver run = new Driver(rejecting);
      assertThat(Driver.code(before.proceed())).isEqualTo("validator_failed");

      assertThat(Driver.result(new Driver(accepting).takeOver(before)).path("city").asText())
          .isEqualTo("Rome");
      assertThat(Driver.asked(run.takeOver(before))).containsExactly("city");
      assertThat(run.state.at(Place.parse("ask#1")).questions()).hasSize(1);
      sameAgain(run);
    }
  }

  @Test
  void anAnswerUnderANewNameStandsThatNobodyHasJudgedYet() {
    Driver before =
        started(
            Flows.chain(
                    old()
                        .ask(
                            "ask_mail",
                            q ->
                                q.question("mail", "Mail?", o -> o.validate(MigrationTest::broken))
                                    .question("size", "Size?"))
                        .ask("ask_city", q -> q.question("city", "City?")),
                    "ask_mail",
                    "ask_city")
                .compile());
    assertThat(Driver.code(before.proceed("mail", "a@b.c", "size", "12")))
        .isEqualTo("validator_failed");
    Driver run = new Driver(second(MigrationTest::renamed));

    assertThat(asked(run.takeOver(before))).containsExactly("Which city?");
    assertThat(run.proceed("city", "Rome"))
        .isEqualTo(new Outcome.Complete(Json.tree(new New("a@b.c", 12, "Rome", null))));
    sameAgain(run);
  }

  @Test
  void whatIsDoneKeepsItsNameAndItsCompensation() {
    FlowBuilder<Old> flow =
        old()
            .act("book", run -> {})
            .compensate("book", run -> {})
            .ask("ask", q -> q.question("city", "?"));
    Driver before = started(Flows.chain(flow, "book", "ask").compile());
    FlowBuilder<Old> named =
        old()
            .version(2)
            .migrate(1, m -> m.node("book", "reserve"))
            .act("reserve", run -> {})
            .compensate("reserve", run -> {})
            .ask("ask", q -> q.question("city", "?"));
    FlowBuilder<Old> without =
        old()
            .version(2)
            .migrate(1, m -> {})
            .act("book", run -> {})
            .ask("ask", q -> q.question("city", "?"));

    assertThat(refused(before, Flows.chain(named, "reserve", "ask").compile()))
        .contains("book is done")
        .contains("keep its name");
    assertThat(refused(before, Flows.chain(without, "book", "ask").compile()))
        .contains("no compensation");
  }

  @Test
  void aRunThatHasExpiredIsNotCarriedOver() {
    Driver before = started(first());
    Driver run =
        new Driver(
            Flows.chain(
                    old()
                        .version(2)
                        .expireAfter(Duration.ofMillis(1))
                        .migrate(1, m -> m.node("ask_mail", "ask"))
                        .ask("ask", q -> q.question("mail", "?")),
                    "ask")
                .compile());
    before.now += 1_000;
    assertThat(((Outcome.Failure) run.takeOver(before)).code()).isEqualTo("run_expired");
  }

  private FlowBuilder<Old> booking(FlowBuilder<Old> flow) {
    return Flows.chain(
        flow.act("book", run -> {})
            .compensate("book", run -> did.add("undo " + run.state().city()))
            .expireAfter(Duration.ofDays(1))
            .onExpire(run -> did.add("notify " + run.state().city()))
            .ask("ask_city", q -> q.question("city", "?"))
            .ask("ask_mail", q -> q.question("mail", "?")),
        "ask_city",
        "book",
        "ask_mail");
  }

  @Test
  void aRunThatHasExpiredEndsInTheVersionThatTakesItOver() {
    Driver before = started(booking(old()).compile(), "city", "Ulm");
    before.now += Duration.ofDays(2).toMillis();
    Flow<Old> next = booking(old().version(2).migrate(1, m -> {})).compile();
    Driver run = new Driver(next);

    assertThat(((Outcome.Failure) run.takeOverWhenDue(before)).code()).isEqualTo("run_expired");
    assertThat(run.state.status()).isEqualTo(RunState.Status.EXPIRED);
    assertThat(run.state.version()).isEqualTo(2);
    assertThat(did).containsExactly("undo Ulm", "notify Ulm");
    assertThat(Driver.fold(run.journal)).isEqualTo(run.state);
    Redecision again = new Redecision(next, Limits.DEFAULT);
    for (Driver.Entry entry : run.entries) {
      assertThat(again.decide(entry.at(), entry.events())).as("%s", entry).isNull();
    }
  }

  @Test
  void aRunWhoseTimeHasComeInItsOwnVersionLivesAsLongAsTheNewOneSays() {
    Driver before = started(booking(old()).compile(), "city", "Ulm");
    before.now += Duration.ofDays(2).toMillis();
    Driver run =
        new Driver(
            booking(old().version(2).migrate(1, m -> {}))
                .expireAfter(Duration.ofDays(9))
                .compile());

    assertThat(run.takeOverWhenDue(before)).isInstanceOf(Outcome.Interrupt.class);
    assertThat(did).isEmpty();
  }

  @Test
  void aMigrationThatCannotBeIsRefusedWhenTheFlowIsCompiled() {
    assertThatThrownBy(
            () ->
                second(
                    m ->
                        m.node("ask_mail", "ask_contct")
                            .field("mail", "emial")
                            .removed("x", "ask_city")
                            .removed("x", "ask_city")))
        .isInstanceOf(InvalidFlowException.class)
        .hasMessageContaining("did you mean ask_contact")
        .hasMessageContaining("did you mean email")
        .hasMessageContaining("says twice what becomes of x");
    assertThatThrownBy(
            () ->
                Flows.chain(old().migrate(1, m -> {}).ask("a", q -> q.question("city", "?")), "a")
                    .compile())
        .hasMessageContaining("the flow is version 1");
  }

  record Pin(@Secret String pin) {}

  @Test
  void aValueThatComesUnderTheNameOfASecretIsTreatedAsOne() {
    Flow<Pin> next =
        Flows.chain(
                Flow.of("order", Pin.class)
                    .description("Orders.")
                    .version(2)
                    .migrate(1, m -> m.node("ask_mail", "ask").field("mail", "pin"))
                    .ask("ask", q -> q.question("pin", "Pin?"))
                    .waitFor("wait", "go"),
                "ask",
                "wait")
            .compile();
    Driver run = new Driver(next);
    run.takeOver(started(first(), "mail", "1234"));
    Secrets secrets = new Secrets();
    run.journal.forEach(event -> secrets.learn(next.secretFields(), event));

    assertThat(secrets.masked("it is 1234")).doesNotContain("1234");
  }

  @Test
  void whatEarlierVersionsHadOfASecretIsSecretToo() {
    record Home(@Secret String street, String town) {}
    record Paid(@Secret String cardNumber, Home home, String city) {}
    SecretFields secret =
        Flow.of("order", Paid.class)
            .description("Orders.")
            .version(3)
            .migrate(1, m -> m.field("card", "number").secret("cvc").field("mail", "city"))
            .migrate(2, m -> m.field("number", "cardNumber").field("address", "home"))
            .ask("ask", q -> q.question("city", "?"))
            .edge(START, "ask")
            .edge("ask", END)
            .compile()
            .secretFields();

    for (String path : List.of("cardNumber", "number", "card", "cvc", "address.street")) {
      assertThat(secret.names(path)).as(path).isTrue();
    }
    for (String path : List.of("city", "mail", "address", "address.town")) {
      assertThat(secret.names(path)).as(path).isFalse();
    }
  }

  // --- the items of lists ---------------------------------------------------------------------

  record Travel(List<String> people, @Computed List<String> lines) {}

  record Paper(String number, String issuer) {}

  record Visitor(@Computed String name, String country) {}

  record Guest(@Computed String name, String nation) {}

  /** Asks for the paper of each traveller, and then for the country, or the nation. */
  private static <T extends Record> Flow<Travel> travel(
      int version, Class<T> item, String each, String mount, String ask, String field) {
    Flow<Paper> paper =
        Flows.chain(
                Flow.of("paper", Paper.class)
                    .description("Asks for a paper.")
                    .ask("ask_number", q -> q.question("number", "Number?"))
                    .ask("ask_issuer", q -> q.question("issuer", "Issuer?")),
                "ask_number",
                "ask_issuer")
            .compile();
    Flow<T> traveller =
        Flows.chain(
                Flow.of("traveller", item)
                    .description("Asks a traveller.")
                    .subflow(mount, paper, o -> {})
                    .ask(ask, q -> q.question(field, field + "?")),
                mount,
                ask)
            .result(done -> null)
            .compile();
    FlowBuilder<Travel> travel =
        Flow.of("travel", Travel.class).description("Asks travellers.").version(version);
    if (version == 2) {
      travel.migrate(
          1,
          m ->
              m.node("traveller", each)
                  .node("traveller/paper", each + "/" + mount)
                  .node("traveller/ask_country", each + "/" + ask)
                  .field("traveller.*.country", each + ".*." + field));
    }
    return Flows.chain(
            travel
                .ask("ask_people", q -> q.question("people", "Who?"))
                .<T, String>forEach(
                    each,
                    traveller,
                    o ->
                        o.items(Travel::people)
                            .input((all, name) -> Map.of("name", name))
                            .atMost(3)
                            .into("lines")),
            "ask_people",
            each)
        .result(state -> state)
        .compile();
  }

  @Test
  void whatIsRenamedInTheItemsOfAListIsRenamedInEachOfThem() {
    Driver before =
        new Driver(travel(1, Visitor.class, "traveller", "paper", "ask_country", "country"));
    before.start("people", List.of("Ann", "Bob"));
    before.proceed("traveller.0.paper.number", "A1", "traveller.0.paper.issuer", "Rome");
    before.proceed("traveller.1.paper.number", "B1");
    assertThat(before.state.places())
        .containsKey(Place.parse("traveller#1:0|traveller/ask_country#1"))
        .containsKey(Place.parse("traveller#1:1|traveller/paper/ask_issuer#1"));
    Flow<Travel> next = travel(2, Guest.class, "guest", "document", "ask_nation", "nation");

    Driver run = new Driver(next);
    Outcome open = run.takeOver(before);

    assertThat(asked(open)).containsExactly("nation?", "Issuer?");
    assertThat(run.state.places())
        .containsKey(Place.parse("guest#1:0|guest/ask_nation#1"))
        .containsKey(Place.parse("guest#1:1|guest/document/ask_issuer#1"));
    ObjectNode item = run.state.branch("guest#1:1").memory().data();
    assertThat(item.at("/guest/1/document/number").asText()).as("%s", item).isEqualTo("B1");
    assertThat(item.has("traveller")).isFalse();
    run.proceed("guest.1.document.issuer", "Oslo");
    run.proceed("guest.0.nation", "Italy", "guest.1.nation", "Norway");
    assertThat(run.state.status()).isEqualTo(RunState.Status.COMPLETED);
    RunJournal journal = RunJournal.of("travel", run.state.runId(), journal(run));
    Replay.of(next, journal).requireSame();
    assertThat(Replay.of(next, journal).uncompared()).isNull();
  }

  private static List<JournalEntry<Event>> journal(Driver run) {
    return run.entries.stream()
        .map(e -> new JournalEntry<>(e.seq(), e.at(), "caller", "ann", e.events()))
        .toList();
  }

  @Test
  void aFieldOfAnItemStaysInOne() {
    assertThatThrownBy(
            () ->
                next(m -> m.node("ask_mail", "ask").field("traveller.*.mail", "email"))
                    .ask("ask", q -> q.question("email", "Your e-mail?"))
                    .edge(START, "ask")
                    .edge("ask", END)
                    .compile())
        .hasMessageContaining("traveller.*.mail out of the items of a list");
  }

  // --- what is observed -----------------------------------------------------------------------

  @Test
  void recordersReceiveItAndWhatItChanged() {
    Driver run = new Driver(second(MigrationTest::renamed));
    run.takeOver(started(first(), "mail", "m", "size", "12"));
    List<Observation> observed = new ArrayList<>();
    Narrative narrative = new Narrative();
    RunObserver recording =
        RunObserver.of(
            run.program.flow(),
            "",
            new Recorder() {
              @Override
              public void onEvent(Observation event) {
                observed.add(event);
              }
            },
            narrative);
    run.entries.forEach(entry -> recording.record(entry.seq(), entry.at(), entry.events()));

    assertThat(observed.stream().filter(one -> one.fact() instanceof Event.Migrated)).hasSize(1);
    assertThat(observed.stream().filter(MigrationTest::ofMigration).map(MigrationTest::written))
        .containsExactlyInAnyOrder("mail null", "size null", "email \"m\"", "seats 12");
    assertThat(narrative.text("run-1"))
        .contains("carried over from version 1 of its flow to version 2");
  }

  private static boolean ofMigration(Observation event) {
    return event.fact() instanceof Observation.Written w
        && w.source() == Observation.Source.MIGRATION;
  }

  private static String written(Observation event) {
    Write write = ((Observation.Written) event.fact()).write();
    return write.path() + " " + write.value();
  }
}
