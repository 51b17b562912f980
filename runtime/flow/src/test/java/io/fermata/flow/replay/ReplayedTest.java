package io.fermata.flow.replay;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.ForEach;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Describe;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** A journal is compared with the present code of its flow, without its effects. */
class ReplayedTest {
  record Order(
      @Describe("Seats") Integer seats,
      @Describe("Email") String email,
      @Computed Integer price,
      @Computed String plan) {}

  private final List<String> charged = new ArrayList<>();

  private Flow<Order> order(int version, int large, String refusing) {
    FlowBuilder<Order> flow =
        Flow.of("order", Order.class).version(version).description("Sells seats.");
    if (version > 1) {
      flow.migrate(1, m -> {});
    }
    return flow.ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .act("team", run -> charge(run.idempotencyKey()))
        .act("enterprise", run -> charge(run.idempotencyKey()))
        .ask(
            "ask_email",
            q ->
                q.question(
                    "email",
                    "Your email?",
                    o ->
                        o.validate(
                            (String mail) ->
                                mail.contains(refusing)
                                    ? Verdict.reject("No such address.")
                                    : Verdict.accept())))
        .edge(START, "ask_seats")
        .decide(
            "ask_seats",
            d -> d.when("large", gt("seats", large)).to("enterprise").otherwise("team"))
        .edge("team", "ask_email")
        .edge("enterprise", "ask_email")
        .edge("ask_email", END)
        .compile();
  }

  private void charge(String key) {
    charged.add(key);
  }

  @Test
  void aCallThatRepeatsAnAnswerAndRetriesAFailedStepBesideAWidgetIsRecognised() {
    AtomicBoolean down = new AtomicBoolean(true);
    Flow<Order> flow =
        Flow.of("order", Order.class)
            .description("Sells seats.")
            .ask("ask_email", q -> q.question("email", "Your email?"))
            .widget("show", o -> o.displayOnly())
            .act(
                "team",
                run -> {
                  if (down.getAndSet(false)) {
                    throw new StepException("The bank is closed.");
                  }
                })
            .computes("sum_up", "plan", order -> "team")
            .fork("ask_email", f -> f.branch("show").branch("team").join("sum_up"))
            .edge(START, "ask_email")
            .edge("show", "sum_up")
            .edge("team", "sum_up")
            .edge("sum_up", END)
            .compile();
    Driver run = new Driver(flow);
    run.start("email", "ann@acme.com");
    run.proceed("email", "ann@acme.com");
    assertThat(run.entries.get(run.entries.size() - 2).events().get(0))
        .isInstanceOf(Event.Retried.class);
    replayed(flow, journal(run)).requireSame();
  }

  private static Flow<Order> charging(int attempts, Consumer<Run<Order>> action) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .act("charge", action::accept, o -> o.retry(attempts, Duration.ofSeconds(1)))
        .edge(START, "charge")
        .edge("charge", END)
        .compile();
  }

  private static RunJournal failed(Flow<?> flow, Limits limits) {
    Driver run = new Driver(flow, limits);
    run.start();
    assertThat(run.events(Event.Stopped.class)).hasSize(1);
    return journal(run);
  }

  @Test
  void aStepThatFailedForGoodAndWouldBeTriedAgainNowIsNamed() {
    Consumer<Run<Order>> closed =
        run -> {
          throw new StepException("The bank is closed.");
        };
    RunJournal journal = failed(charging(1, closed), Limits.DEFAULT);

    replayed(charging(1, closed), journal).requireSame();
    assertThat(divergence(replayed(charging(3, closed), journal)).now())
        .isInstanceOf(Event.AttemptFailed.class);
  }

  @Test
  void aTerminalFailureIsOneForCodeThatWouldTryMoreOftenToo() {
    Consumer<Run<Order>> broke =
        run -> {
          throw StepException.terminal("There is not enough.");
        };
    RunJournal journal = failed(charging(3, broke), Limits.DEFAULT);

    replayed(charging(3, broke), journal).requireSame();
    replayed(charging(9, broke), journal).requireSame();
  }

  @Test
  void aResultThatCouldNotBeKeptIsNotTriedAgainByAnyCode() {
    Limits small = new Limits(100, 1_000, 100, 5);
    Consumer<Run<Order>> verbose = run -> run.set("plan", "y".repeat(200));
    RunJournal journal = failed(charging(1, verbose), small);

    Replay.of(charging(1, verbose), small, journal).requireSame();
    Replay.of(charging(3, verbose), small, journal).requireSame();
  }

  private RunJournal recorded() {
    Driver run = new Driver(order(2, 6, "#"));
    run.start("seats", 7);
    run.proceed("email", "ann@acme.com");
    assertThat(charged).hasSize(1);
    return journal(run);
  }

  private static RunJournal journal(Driver run) {
    return RunJournal.of(
        run.program.flow().id(),
        run.state.runId(),
        run.entries.stream()
            .map(e -> new JournalEntry<>(e.seq(), e.at(), "caller", "ann", e.events()))
            .toList());
  }

  /** Decided as a whole, which is what it is when its entries pass. */
  private static Replay replayed(Flow<?> flow, RunJournal journal) {
    Replay replay = Replay.of(flow, journal);
    RunReplayer passing = new RunReplayer(flow, Limits.DEFAULT);
    journal.entries().forEach(passing::decide);
    assertThat(passing.same()).isEqualTo(replay.same());
    assertThat(passing.state()).isEqualTo(journal.state());
    return replay;
  }

  private static Divergence divergence(Replay replay) {
    return Objects.requireNonNull(replay.divergence());
  }

  @Test
  void unchangedCodeDecidesTheSameAndPerformsNothing() {
    Replay replay = replayed(order(2, 6, "#"), recorded()).requireSame();

    assertThat(replay.decided()).isEqualTo(3);
    assertThat(charged).hasSize(1);
  }

  @Test
  void aChangedConditionIsNamedWithWhatItSawThenAndNow() {
    Replay replay = replayed(order(2, 10, "#"), recorded());

    assertThatThrownBy(replay::requireSame)
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            """
            The present code of order version 2 decides entry 1 (caller ann, 1970-01-01T00:00:01.001Z) otherwise than it was recorded.
            Recorded: After ask_seats the run went to enterprise, because "large" (seats was 7, above 6).
            Now:      After ask_seats the run went to team, because no rule held: "large" (seats was 7, not above 10).""");
    assertThat(divergence(replay).before().data().path("seats").asInt()).isEqualTo(7);
  }

  @Test
  void aChangedValidatorIsNamed() {
    assertThat(divergence(replayed(order(2, 6, "acme"), recorded())).text())
        .contains(
            "entry 3", "Now:      email = \"ann@acme.com\" was refused: \"No such address.\"");
  }

  @Test
  void anAnswerThatTheSchemaRefusesNowIsNamed() {
    record Other(String email) {}
    Flow<Other> other =
        Flow.of("order", Other.class)
            .description("Sells nothing.")
            .ask("ask_email", q -> q.question("email", "Your email?"))
            .edge(START, "ask_email")
            .edge("ask_email", END)
            .compile();
    Divergence divergence = divergence(replayed(other, recorded()));

    assertThat(Objects.requireNonNull(divergence.refused()).code()).isEqualTo("invalid_updates");
    assertThat(divergence.text()).contains("Now:      refused, invalid_updates", "seats");
  }

  @Test
  void aRunThatWasCarriedOverIsComparedFromItsMigrationOn() {
    RunJournal journal = carriedOver();

    assertThat(replayed(order(2, 6, "#"), journal).requireSame().decided()).isEqualTo(2);
    assertThat(replayed(order(2, 6, "acme"), journal).same()).isFalse();
  }

  /** On version 1 five seats were many, on version 2 they are few. */
  private RunJournal carriedOver() {
    Driver older = new Driver(order(1, 3, "#"));
    older.start("seats", 5);
    Driver newer = new Driver(order(2, 6, "#"));
    newer.takeOver(older);
    newer.proceed("email", "ann@acme.com");
    return journal(newer);
  }

  // --- migrations to other versions -------------------------------------------------------------

  @Test
  void whatAnOlderVersionCanContinueIsComparedBeyondAMigrationToANewerOne() {
    RunJournal journal = carriedOver();

    assertThat(replayed(order(1, 3, "#"), journal).requireSame().decided()).isEqualTo(4);
    assertThat(divergence(replayed(order(1, 3, "acme"), journal)).text())
        .contains("entry 4", "was refused");
  }

  record Stay(Integer nights, String guest, String sure, @Computed Integer price) {}

  /** What version 1 calls confirm, version 2 calls confirm2, and so on. */
  private static Flow<Stay> stay(int version, int many) {
    FlowBuilder<Stay> flow =
        Flow.of("stay", Stay.class).version(version).description("Books a stay.");
    for (int from = 1; from < version; from++) {
      String was = confirm(from);
      String is = confirm(from + 1);
      flow.migrate(from, m -> m.node(was, is));
    }
    String confirm = confirm(version);
    return flow.ask("ask_nights", q -> q.question("nights", "How many nights?"))
        .ask("ask_guest", q -> q.question("guest", "Who?"))
        .act("group", run -> run.set("price", 80))
        .act("single", run -> run.set("price", 100))
        .ask(confirm, q -> q.question("sure", "Really?"))
        .edge(START, "ask_nights")
        .edge("ask_nights", "ask_guest")
        .decide(
            "ask_guest", d -> d.when("many", gt("nights", many)).to("group").otherwise("single"))
        .edge("group", confirm)
        .edge("single", confirm)
        .edge(confirm, END)
        .compile();
  }

  private static String confirm(int version) {
    return version == 1 ? "confirm" : "confirm" + version;
  }

  private static Driver takenOver(Driver before, Flow<?> by) {
    Driver after = new Driver(by);
    after.takeOver(before);
    return after;
  }

  private static RunJournal stayed() {
    Driver first = new Driver(stay(1, 6));
    first.start("nights", 8);
    Driver second = takenOver(first, stay(2, 6));
    second.proceed("guest", "Ann");
    second.proceed("sure", "yes");
    assertThat(second.state.running()).isFalse();
    return journal(second);
  }

  @Test
  void aMigrationToAnEarlierVersionIsFollowedByTheMigrationsFromThere() {
    RunJournal journal = stayed();

    Replay same = replayed(stay(3, 6), journal).requireSame();
    assertThat(same.decided()).isEqualTo(journal.entries().size());
    Replay other = replayed(stay(3, 10), journal);
    assertThat(divergence(other).text())
        .contains("Recorded: After ask_guest the run went to group")
        .contains("Now:      After ask_guest the run went to single");
    assertThat(other.changes())
        .contains(
            new Change(
                Change.Kind.DECISION,
                "ask_guest",
                "to single (no rule) instead of to group (many)"))
        .noneMatch(change -> change.node().startsWith("confirm"));
    assertThat(divergence(other).picture().svg()).contains("confirm3");
    assertThat(divergence(other).pictureNow().svg()).contains("confirm3");
  }

  @Test
  void aRunOnAnEarlierVersionIsComparedUnderTheNamesOfThePresentOne() {
    Driver run = new Driver(stay(1, 6));
    run.start("nights", 8);
    run.proceed("guest", "Ann");
    run.proceed("sure", "yes");

    assertThat(replayed(stay(3, 6), journal(run)).requireSame().decided()).isEqualTo(4);
    assertThat(replayed(stay(3, 10), journal(run)).changes())
        .contains(
            new Change(
                Change.Kind.DECISION,
                "ask_guest",
                "to single (no rule) instead of to group (many)"))
        .noneMatch(change -> change.node().startsWith("confirm"));
  }

  record Kid(String name, Integer age) {}

  record Team(List<String> people, @Computed List<String> lines) {}

  /** What version 1 calls kids, version 2 calls children. */
  private static Flow<Team> team(int version) {
    Flow<Kid> kid =
        Flow.of("kid", Kid.class)
            .description("Asks for an age.")
            .ask("ask_age", q -> q.question("age", "Which age?"))
            .edge(START, "ask_age")
            .edge("ask_age", END)
            .result(Kid::name)
            .compile();
    FlowBuilder<Team> flow = Flow.of("team", Team.class).version(version).description("Counts.");
    if (version == 2) {
      flow.migrate(1, m -> m.node("kids", "children"));
    }
    String each = version == 1 ? "kids" : "children";
    return flow.ask("ask_people", q -> q.question("people", "Who?"))
        .forEach(
            each,
            kid,
            (ForEach<Team, String> o) ->
                o.items(Team::people)
                    .input((team, name) -> Map.of("name", name))
                    .atMost(3)
                    .into("lines"))
        .edge(START, "ask_people")
        .edge("ask_people", each)
        .edge(each, END)
        .compile();
  }

  @Test
  void aValueThatWasGivenAheadForAMissingItemIsComparedUnderItsNewName() {
    Driver run = new Driver(team(1));
    run.start("kids.2.age", 9);
    run.proceed("people", List.of("Ann", "Bob"));
    run.proceed("kids.0.age", 3, "kids.1.age", 4);
    assertThat(run.events(Event.Misplaced.class)).hasSize(1);

    replayed(team(1), journal(run)).requireSame();
    replayed(team(2), journal(run)).requireSame();
  }

  private static Flow<Stay> asking(int version, String node, String question) {
    FlowBuilder<Stay> flow = Flow.of("stay", Stay.class).version(version).description("Asks.");
    for (int from = 1; from < version; from++) {
      flow.migrate(from, m -> {});
    }
    return flow.ask(node, q -> q.question("guest", question))
        .edge(START, node)
        .edge(node, END)
        .compile();
  }

  @Test
  void whatIsAskedAgainBehindAMigrationIsCompared() {
    Driver first = new Driver(asking(1, "ask", "Who?"));
    first.start();
    RunJournal journal = journal(takenOver(first, asking(2, "ask", "Who is it?")));

    assertThat(divergence(replayed(asking(3, "ask", "Who?"), journal)).text())
        .contains("entry 2", "Recorded: ask asked \"Who is it?\"", "Now:      ask asked \"Who?\"");
  }

  @Test
  void whatFollowsAMigrationThatThePresentCodeCannotContinueIsSaidToBeUncompared() {
    Driver first = new Driver(stay(1, 6));
    first.start("nights", 8, "guest", "Ann");
    RunJournal journal = journal(takenOver(first, stay(2, 6)));
    Flow<Stay> other =
        Flow.of("stay", Stay.class)
            .version(3)
            .description("Books a stay.")
            .ask("ask_nights", q -> q.question("nights", "How many nights?"))
            .ask("ask_guest", q -> q.question("guest", "Who?"))
            .act("group", run -> {})
            .ask("confirm", q -> q.question("sure", "Really?"))
            .edge(START, "ask_nights")
            .edge("ask_nights", "ask_guest")
            .decide("ask_guest", d -> d.when("many", gt("nights", 6)).to("group").otherwise(END))
            .edge("group", "confirm")
            .edge("confirm", END)
            .compile();

    Replay replay = replayed(other, journal);

    assertThat(replay.divergence()).isNull();
    assertThat(replay.same()).isFalse();
    assertThat(replay.decided()).isEqualTo(2);
    assertThat(Objects.requireNonNull(replay.uncompared()).entry()).isEqualTo(3);
    assertThatThrownBy(replay::requireSame)
        .hasMessageContaining("not compared from entry 3 on, because it is at confirm2");
  }

  // --- forks ------------------------------------------------------------------------------------

  private static RunJournal forked(RunJournal journal, long entry, Flow<?> by) {
    List<Event> events = new ArrayList<>(journal.fork(entry, "fork", ForkOptions.live(), 9_000));
    Driver run = new Driver(by);
    run.now = 9_001;
    run.state = RunState.NONE.apply(events);
    Program.Acceptance<RunState, Event> onward = run.program.fork(run.state, Json.object(), 9_000);
    events.addAll(((Program.Accepted<RunState, Event>) onward).events());
    run.state = RunState.NONE.apply(events);
    run.entries.add(new Driver.Entry(1, 9_000, events, null));
    run.proceed("guest", "Ann");
    run.proceed("sure", "yes");
    assertThat(run.state.running()).isFalse();
    return RunJournal.of("stay", "fork", journal(run).entries());
  }

  @Test
  void aForkOfARunThatWasCarriedOverIsComparedByEachVersionThatCanContinueIt() {
    Driver first = new Driver(stay(1, 6));
    first.start("nights", 8);
    RunJournal source = journal(takenOver(first, stay(2, 6)));
    RunJournal fork = forked(source, 2, stay(2, 6));
    int all = fork.entries().size();

    assertThat(replayed(stay(2, 6), fork).requireSame().decided()).isEqualTo(all);
    assertThat(replayed(stay(3, 6), fork).requireSame().decided()).isEqualTo(all);
    assertThat(replayed(stay(2, 10), fork).same()).isFalse();
    assertThat(replayed(stay(3, 10), fork).divergence()).isNotNull();
    assertThat(replayed(stay(3, 10), fork).changes())
        .contains(
            new Change(
                Change.Kind.DECISION,
                "ask_guest",
                "to single (no rule) instead of to group (many)"));
  }

  @Test
  void aForkThatThePresentCodeCannotContinueIsSaidToBeUncompared() {
    Driver source = new Driver(stay(1, 6));
    source.start("nights", 8);
    RunJournal fork = forked(journal(source), 1, stay(1, 6));

    Replay replay = replayed(asking(1, "ask", "Who?"), fork);

    assertThat(replay.decided()).isZero();
    assertThat(Objects.requireNonNull(replay.uncompared()).text())
        .isEqualTo(
            "It is not compared from entry 1 on, because it is at ask_guest, which is no node of"
                + " version 1; say in the migration what became of that: node(…) or removed(…)");
  }

  @Test
  void aJournalWithoutEntriesIsNoProof() {
    RunJournal empty = new RunJournal("order", "run-1", List.of());
    assertThatThrownBy(() -> replayed(order(2, 6, "#"), empty).requireSame())
        .hasMessageContaining("Nothing of run run-1 was decided again");
  }

  @Test
  void aJournalShowsItsRunAtEveryEntry() {
    RunJournal journal = recorded();
    Flow<Order> flow = order(2, 6, "#");

    assertThat(journal.upTo(1).state().places().keySet())
        .extracting(place -> place.node())
        .containsExactly("enterprise");
    assertThat(journal.state().running()).isFalse();
    assertThat(journal.narrative(flow)).contains("After ask_seats the run went to enterprise");
    assertThat(journal.why(flow, "seats").toString()).contains("7");
    assertThat(journal.picture(flow).svg()).contains("<svg");
  }

  @Test
  void aRunIsFoundAmongOthersOfItsSession() {
    Driver run = new Driver(order(2, 6, "#"));
    run.start("seats", 1);
    run.start("seats", 9);
    run.proceed("email", "a@b.c");
    List<JournalEntry<Event>> session =
        run.entries.stream()
            .map(e -> new JournalEntry<>(e.seq(), e.at(), "caller", "ann", e.events()))
            .toList();

    RunJournal first = RunJournal.of("order", "run-1", session);
    RunJournal second = RunJournal.of("order", "run-2", session);

    assertThat(first.events()).last().isInstanceOf(Event.Abandoned.class);
    assertThat(second.events()).first().isInstanceOf(Event.Started.class);
    assertThatCode(() -> replayed(order(2, 6, "#"), first).requireSame())
        .doesNotThrowAnyException();
    assertThatCode(() -> replayed(order(2, 6, "#"), second).requireSame())
        .doesNotThrowAnyException();
  }
}
