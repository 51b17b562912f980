package io.fermata.flow.replay;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static io.fermata.flow.route.Condition.gte;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.Change.Kind;
import io.fermata.flow.route.Branches;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.flow.schema.Secret;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** What would have been otherwise is followed through the rest of the journal. */
class ChangesTest {
  record Order(
      Integer seats, String boss, @Secret String email, @Computed Integer price, Boolean sure) {}

  private int charged;

  /**
   * Large orders ask for a boss and are called; others are charged. Then all are asked an email.
   */
  private Flow<Order> order(int large, String refusing, int factor) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .ask("ask_boss", q -> q.question("boss", "Who approves?"))
        .act("call", this::charge)
        .act("charge", this::charge)
        .sleep("cool", Duration.ofDays(1))
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
            d -> d.when("large", gt("seats", large)).to("ask_boss").otherwise("charge"))
        .edge("ask_boss", "call")
        .edge("call", "cool")
        .edge("charge", "cool")
        .edge("cool", "ask_email")
        .edge("ask_email", END)
        .result(state -> state.seats() * factor)
        .compile();
  }

  private void charge(Run<Order> run) {
    charged++;
    run.set("price", 10);
  }

  private RunJournal small() {
    Driver run = new Driver(order(6, "#", 1));
    run.start("seats", 5);
    run.pass();
    run.proceed("email", "ann@acme.com");
    return journal(run);
  }

  private static RunJournal journal(Driver run) {
    return RunJournal.of(
        run.program.flow().id(),
        "run-1",
        run.entries.stream()
            .map(e -> new JournalEntry<>(e.seq(), e.at(), "caller", "ann", e.events()))
            .toList());
  }

  @Test
  void anotherDecisionChangesQuestionsEffectsAndTheOutcome() {
    Replay replay = Replay.of(order(3, "#", 1), small());

    assertThat(replay.changes())
        .containsExactlyInAnyOrder(
            new Change(
                Kind.DECISION, "ask_seats", "to ask_boss (large) instead of to charge (no rule)"),
            new Change(Kind.QUESTION_ADDED, "ask_boss", "boss"),
            new Change(Kind.EFFECT_DROPPED, "charge", "once"),
            new Change(Kind.OUTCOME, "", "still at ask_boss instead of completed"));
    assertThat(charged).isEqualTo(1);
  }

  private Flow<Order> restful(String question) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .ask("ask_seats", q -> q.question("seats", question))
        .sleep("cool", Duration.ofDays(1))
        .ask("ask_boss", q -> q.question("boss", "Who approves?", QuestionOptions::optional))
        .edge(START, "ask_seats")
        .edge("ask_seats", "cool")
        .edge("cool", "ask_boss")
        .edge("ask_boss", END)
        .compile();
  }

  @Test
  void aRunThatLeftAQuestionOpenAfterItSleptIsFollowedToItsEnd() {
    Driver run = new Driver(restful("How many?"));
    run.start();
    run.proceed("seats", 5);
    run.pass();
    assertThat(Driver.asked(run.proceed())).containsExactly("boss");
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);

    assertThat(Replay.of(restful("How many seats?"), journal(run)).changes())
        .containsExactly(new Change(Kind.QUESTION_CHANGED, "ask_seats", "seats"));
  }

  private Flow<Order> forked(boolean works) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .act("calculate", run -> {})
        .ask("ask_boss", q -> q.question("boss", "Who approves?", QuestionOptions::optional))
        .act("sum", run -> {})
        .fork(START, f -> f.branch("calculate").branch("ask_boss").join("sum"))
        .decide(
            "calculate",
            d ->
                d.when(
                        "it works",
                        state -> {
                          if (!works) {
                            throw new IllegalStateException("It does not work.");
                          }
                          return true;
                        })
                    .to("sum")
                    .otherwise("sum"))
        .edge("ask_boss", "sum")
        .edge("sum", END)
        .compile();
  }

  @Test
  void aPartedRunThatHaltsBesideAPassedQuestionIsFollowedToItsHaltAndNoFurther() {
    Driver run = new Driver(forked(true));
    assertThat(Driver.asked(run.start())).containsExactly("boss");
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);

    assertThat(Replay.of(forked(false), journal(run)).changes())
        .extracting(Change::kind)
        .contains(Kind.OUTCOME);
  }

  record Paid(String who, @Computed List<Map<String, String>> failures) {}

  /** Asks who pays. */
  private static Flow<Paid> paying(String question, UnaryOperator<FlowBuilder<Paid>> charges) {
    return charges
        .apply(
            Flow.of("pay", Paid.class)
                .description("Pays.")
                .ask("ask_who", q -> q.question("who", question))
                .edge(START, "ask_who"))
        .compile();
  }

  private static void onlyTheQuestionChanged(Driver run, Flow<Paid> now) {
    assertThat(Replay.of(now, journal(run)).changes())
        .containsExactly(new Change(Kind.QUESTION_CHANGED, "ask_who", "who"));
  }

  private static void closed(Run<Paid> run) {
    throw new StepException("The bank is closed.");
  }

  @Test
  void aRunThatAStepHasFailedIsFollowedToItsFailureThroughItsAttempts() {
    UnaryOperator<FlowBuilder<Paid>> charges =
        flow ->
            flow.act("charge", ChangesTest::closed, o -> o.retry(3, Duration.ofSeconds(5)))
                .endOnFailure()
                .edge("ask_who", "charge")
                .edge("charge", END);
    Driver run = new Driver(paying("Who?", charges));
    run.start();
    run.proceed("who", "Ann");
    assertThat(run.state.status()).isEqualTo(RunState.Status.FAILED);

    onlyTheQuestionChanged(run, paying("Who pays?", charges));
  }

  @Test
  void aRunOfWhichAFailedBranchWasDroppedIsFollowedToItsEnd() {
    UnaryOperator<FlowBuilder<Paid>> charges =
        flow ->
            flow.act("charge", ChangesTest::closed)
                .act("note", run -> {})
                .act("close", run -> {})
                .fork(
                    "ask_who",
                    f -> f.branch("charge").branch("note").join("close").collect("failures"))
                .edge("charge", "close")
                .edge("note", "close")
                .edge("close", END);
    Driver run = new Driver(paying("Who?", charges));
    run.start();
    assertThat(run.proceed("who", "Ann")).isInstanceOf(Outcome.Complete.class);

    onlyTheQuestionChanged(run, paying("Who pays?", charges));
  }

  @Test
  void aRunThatSomebodyBroughtPastAnInterruptedStepIsFollowedToItsEnd() {
    UnaryOperator<FlowBuilder<Paid>> charges =
        flow ->
            flow.act("charge", run -> {}, o -> o.once())
                .edge("ask_who", "charge")
                .edge("charge", END);
    Driver run = new Driver(paying("Who?", charges));
    run.start();
    run.feed(new Input.Continue(Driver.object("who", "Ann"), run.now++));
    run.recover();
    assertThat(run.resolve(Input.Resolution.SKIP)).isInstanceOf(Outcome.Complete.class);

    onlyTheQuestionChanged(run, paying("Who pays?", charges));
  }

  @Test
  void aFailedStepThatSomebodyTriedAgainIsFollowedToWhatCameOfThat() {
    AtomicBoolean down = new AtomicBoolean(true);
    UnaryOperator<FlowBuilder<Paid>> charges =
        flow ->
            flow.act(
                    "charge",
                    run -> {
                      if (down.getAndSet(false)) {
                        closed(run);
                      }
                    })
                .edge("ask_who", "charge")
                .edge("charge", END);
    Driver run = new Driver(paying("Who?", charges));
    run.start();
    run.proceed("who", "Ann");
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);

    onlyTheQuestionChanged(run, paying("Who pays?", charges));
  }

  @Test
  void ofAStepThatMayBeTriedMoreOftenThanItWasOnlyTheAttemptsOfTheJournalAreKnown() {
    Driver run = new Driver(paying("Who?", flow -> failing(flow, 1)));
    run.start("who", "Ann");
    assertThat(run.state.status()).isEqualTo(RunState.Status.FAILED);

    for (int attempts : List.of(2, 3, 9)) {
      assertThat(Replay.of(paying("Who?", flow -> failing(flow, attempts)), journal(run)).changes())
          .as("%s attempts", attempts)
          .containsExactly(new Change(Kind.OUTCOME, "", "still at charge instead of failed"));
    }
  }

  private static FlowBuilder<Paid> failing(FlowBuilder<Paid> flow, int attempts) {
    return flow.act("charge", ChangesTest::closed, o -> o.retry(attempts, Duration.ofSeconds(5)))
        .endOnFailure()
        .edge("ask_who", "charge")
        .edge("charge", END);
  }

  @Test
  void theResultThatTheRunPartedAtIsTakenOnce() {
    Driver run = new Driver(counted(2, flow -> flow));
    assertThat(run.start()).isInstanceOf(Outcome.Complete.class);

    Flow<Counted> undone = counted(3, flow -> flow.compensate("count", undo -> {}));
    assertThat(Replay.of(undone, journal(run)).changes())
        .contains(new Change(Kind.OUTCOME, "", "still at count instead of completed"));
  }

  private static Flow<Counted> counted(int times, UnaryOperator<FlowBuilder<Counted>> more) {
    return more.apply(
            Flow.of("count", Counted.class)
                .description("Counts.")
                .act("count", run -> {})
                .edge(START, "count")
                .decide(
                    "count",
                    d -> d.when(Condition.visits("count").lt(times)).to("count").otherwise(END)))
        .compile();
  }

  record Booked(String email, Integer price, @Computed List<Map<String, String>> failures) {}

  /** The check of an email fails, while what is dear takes a day longer. */
  private static Flow<Booked> booking(int dear) {
    return Flow.of("book", Booked.class)
        .description("Books.")
        .ask(
            "ask_email",
            q ->
                q.question(
                    "email",
                    "Your email?",
                    o ->
                        o.validateAsync(
                            (String email) -> {
                              throw new StepException("Nobody checks emails today.");
                            })))
        .waitFor("await_price", "priced", "price")
        .sleep("cool", Duration.ofDays(1))
        .act("close", run -> {})
        .fork(
            START,
            f -> f.branch("ask_email").branch("await_price").join("close").collect("failures"))
        .edge("ask_email", "close")
        .decide(
            "await_price", d -> d.when("dear", gte("price", dear)).to("cool").otherwise("close"))
        .edge("cool", "close")
        .edge("close", END)
        .compile();
  }

  @Test
  void aCheckThatHadBegunBeforeTheRunPartedIsFollowedToItsFailure() {
    Driver run = new Driver(booking(9));
    run.start();
    run.feed(new Input.Continue(Driver.object("email", "ann@acme.com"), run.now++));
    run.feed(new Input.Signal("priced", Json.tree(5), run.now++));
    assertThat(run.settle()).isInstanceOf(Outcome.Complete.class);

    assertThat(Replay.of(booking(3), journal(run)).changes())
        .containsExactly(
            new Change(
                Kind.DECISION, "await_price", "to cool (dear) instead of to close (no rule)"));
  }

  @Test
  void aRunThatWasUndoneByHandAfterItFailedIsFollowedToItsFailure() {
    UnaryOperator<FlowBuilder<Paid>> charges =
        flow ->
            flow.act("book", run -> {})
                .compensate("book", ChangesTest::stays)
                .act("charge", ChangesTest::closed)
                .endOnFailure()
                .edge("ask_who", "book")
                .edge("book", "charge")
                .edge("charge", END);
    Driver run = new Driver(paying("Who?", charges));
    run.start();
    run.proceed("who", "Ann");
    run.resolve(Input.Resolution.SKIP);
    assertThat(run.state.status()).isEqualTo(RunState.Status.FAILED);

    onlyTheQuestionChanged(run, paying("Who pays?", charges));
  }

  private static void stays(Run<Paid> undo) {
    throw new StepException("The booking stays.");
  }

  /** A question comes up after a sleep, beside a fork of which two signals lead on. */
  private Flow<Order> reserving(UnaryOperator<Branches> join) {
    return Flow.of("order", Order.class)
        .description("Sells seats.")
        .sleep("cool", Duration.ofDays(1))
        .ask("ask_boss", q -> q.question("boss", "Who approves?", QuestionOptions::optional))
        .act("split", run -> {})
        .waitFor("await_payment", "paid", "price")
        .act("reserve", run -> {})
        .compensate("reserve", run -> {})
        .waitFor("await_stock", "stock", "seats")
        .act("ship", run -> {})
        .act("close", run -> {})
        .fork(START, f -> f.branch("cool").branch("split").join("close"))
        .edge("cool", "ask_boss")
        .edge("ask_boss", "close")
        .fork("split", f -> join.apply(f.branch("await_payment").branch("reserve")).join("ship"))
        .edge("await_payment", "ship")
        .edge("reserve", "await_stock")
        .edge("await_stock", "ship")
        .edge("ship", "close")
        .edge("close", END)
        .compile();
  }

  @Test
  void aPartedRunThatUndoesBesideAnUnseenQuestionIsFollowedToWhereItWaits() {
    Driver run = new Driver(reserving(all -> all));
    run.start();
    run.pass();
    run.signal("paid", 5);
    run.signal("stock", 3);
    run.proceed();
    assertThat(run.proceed()).isInstanceOf(Outcome.Complete.class);
    RunJournal journal = journal(run);

    List<Change> changes =
        assertTimeoutPreemptively(
            Duration.ofSeconds(20), () -> Replay.of(reserving(Branches::first), journal).changes());

    assertThat(changes).extracting(Change::kind).contains(Kind.OUTCOME);
  }

  @Test
  void anotherDecisionHasItsRulesAndWhatTheyLookedAt() {
    Replay replay = Replay.of(order(3, "#", 1), small());

    OtherDecision other = Objects.requireNonNull(replay.divergence()).decisions().get(0);
    assertThat(replay.changes()).contains(other.change());
    assertThat(other.recorded().rules()).isEmpty();
    assertThat(other.recorded().evidence()).containsExactly("seats gt 6: 5 (false)");
    assertThat(other.now().rules()).containsExactly("large");
    assertThat(other.now().evidence()).containsExactly("seats gt 3: 5 (true)");
  }

  record Guess(@Secret String word, Boolean sure) {}

  private static Flow<Guess> guess(String right) {
    return Flow.of("guess", Guess.class)
        .description("Guesses a word.")
        .ask("ask", q -> q.question("word", "Which word?"))
        .act("win", run -> {})
        .edge(START, "ask")
        .decide("ask", d -> d.when("right", Condition.eq("word", right)).to("win").otherwise(END))
        .edge("win", END)
        .compile();
  }

  @Test
  void whatADecisionLookedAtHasNoSecrets() {
    Driver run = new Driver(guess("cabbage"));
    run.start("word", "aubergine");

    Replay replay = Replay.of(guess("aubergine"), journal(run));

    assertThat(Objects.requireNonNull(replay.divergence()).decisions())
        .singleElement()
        .satisfies(
            other -> {
              assertThat(other.recorded().evidence())
                  .containsExactly("word eq \"cabbage\": \"[redacted]\" (false)");
              assertThat(other.now().evidence())
                  .containsExactly("word eq \"[redacted]\": \"[redacted]\" (true)");
            });
  }

  @Test
  void theRunContinuesWithTheAnswersAndMomentsThatTheJournalHas() {
    Driver large = new Driver(order(6, "#", 1));
    large.start("seats", 8);
    large.proceed("boss", "Eve");
    large.pass();
    large.proceed("email", "ann@acme.com");

    assertThat(Replay.of(order(10, "#", 1), journal(large)).changes())
        .containsExactlyInAnyOrder(
            new Change(
                Kind.DECISION, "ask_seats", "to charge (no rule) instead of to ask_boss (large)"),
            new Change(Kind.QUESTION_DROPPED, "ask_boss", "boss"),
            new Change(Kind.EFFECT_ADDED, "charge", "once"),
            new Change(Kind.EFFECT_DROPPED, "call", "once"),
            new Change(Kind.OUTCOME, "", "still at charge instead of completed"));
  }

  @Test
  void anAnswerThatIsJudgedOtherwiseAndAnotherResultAreNamed() {
    assertThat(Replay.of(order(6, "acme", 1), small()).changes())
        .contains(new Change(Kind.ANSWER, "ask_email", "email is refused"));
    assertThat(Replay.of(order(6, "#", 2), small()).changes())
        .containsExactly(new Change(Kind.OUTCOME, "", "another result"));
    assertThat(Replay.of(order(6, "#", 1), small()).changes()).isEmpty();
  }

  record Counted(Integer item, @Computed Integer count) {}

  /** Asks for an item, counts it, and does so again. */
  private static Flow<Counted> counting(String question, int items) {
    return Flow.of("count", Counted.class)
        .description("Counts items.")
        .ask("ask", q -> q.question("item", question))
        .act("count", run -> run.set("count", count(run.state()) + 1))
        .edge(START, "ask")
        .edge("ask", "count")
        .decide("count", d -> d.when("enough", gte("count", items)).to(END).otherwise("ask"))
        .compile();
  }

  private static int count(Counted state) {
    return state.count() == null ? 0 : state.count();
  }

  @Test
  void aRunIsFollowedToItsEndHoweverLongItIs() {
    Driver run = new Driver(counting("Which?", 600));
    run.start();
    for (int item = 0; item < 600; item++) {
      run.proceed("item", item);
    }
    assertThat(run.state.running()).isFalse();

    assertThat(Replay.of(counting("Which one?", 600), journal(run)).changes())
        .containsExactly(new Change(Kind.QUESTION_CHANGED, "ask", "item"));
  }

  record Packing(String name, Integer item, @Computed Integer count) {}

  /** Packs items as they come, until there are enough. */
  private static Flow<Packing> packing(String question, int items) {
    return Flow.of("pack", Packing.class)
        .description("Packs items.")
        .ask("ask", q -> q.question("name", question))
        .waitFor("next", "item", "item")
        .act("pack", run -> run.set("count", packed(run.state()) + 1))
        .edge(START, "ask")
        .edge("ask", "next")
        .edge("next", "pack")
        .decide("pack", d -> d.when("enough", gte("count", items)).to(END).otherwise("next"))
        .compile();
  }

  private static int packed(Packing state) {
    return state.count() == null ? 0 : state.count();
  }

  @Test
  void aRunThatTookMoreSignalsThanMayWaitIsFollowedToItsEnd() {
    Driver run = new Driver(packing("Whose?", 150));
    run.start();
    for (int item = 0; item < 60; item++) {
      run.signal("item", item);
    }
    run.proceed("name", "Ann");
    for (int item = 60; item < 150; item++) {
      run.signal("item", item);
    }
    assertThat(run.state.running()).isFalse();

    assertThat(Replay.of(packing("Who?", 150), journal(run)).changes())
        .containsExactly(new Change(Kind.QUESTION_CHANGED, "ask", "name"));
  }

  record Race(String name, @Computed String first, Boolean sure) {}

  /** Whichever of two signals comes first is the result. */
  private static Flow<Race> race(String question) {
    return Flow.of("race", Race.class)
        .description("Takes the first of two.")
        .ask("ask", q -> q.question("name", question))
        .waitFor("left", "a")
        .computes("take_left", "first", race -> "left")
        .waitFor("right", "b")
        .computes("take_right", "first", race -> "right")
        .ask("confirm", q -> q.question("sure", "Sure?"))
        .edge(START, "ask")
        .fork("ask", f -> f.branch("left").branch("right").first().join("confirm"))
        .edge("left", "take_left")
        .edge("take_left", "confirm")
        .edge("right", "take_right")
        .edge("take_right", "confirm")
        .edge("confirm", END)
        .result(race -> race.first())
        .compile();
  }

  @Test
  void ofTwoSignalsThatAreWaitedForTheOneThatCameFirstIsTaken() {
    for (List<String> order : List.of(List.of("a", "b"), List.of("b", "a"))) {
      Driver run = new Driver(race("Whose?"));
      run.start();
      run.proceed("name", "Ann");
      order.forEach(signal -> run.signal(signal, null));
      run.proceed("sure", true);
      assertThat(run.state.running()).isFalse();

      assertThat(Replay.of(race("Who?"), journal(run)).changes())
          .as("%s", order)
          .containsExactly(new Change(Kind.QUESTION_CHANGED, "ask", "name"));
    }
  }

  @Test
  void ofARunThatSleepsOnAndOnNoEndIsSaid() {
    Driver run = new Driver(sleeping(2));
    run.start();
    run.pass();
    run.pass();
    assertThat(run.state.running()).isFalse();

    assertThat(Replay.of(sleeping(1_000_000), journal(run)).changes())
        .contains(
            new Change(
                Kind.OTHER, "", "it sleeps much more often, and was not followed to its end"))
        .noneMatch(change -> change.kind() == Kind.OUTCOME);
    assertThat(Replay.of(sleeping(900), journal(run)).changes())
        .noneMatch(change -> change.kind() == Kind.OTHER);
  }

  private static Flow<Counted> sleeping(int nights) {
    return Flow.of("sleep", Counted.class)
        .description("Sleeps.")
        .sleep("sleep", Duration.ofDays(1))
        .edge(START, "sleep")
        .decide(
            "sleep", d -> d.when(Condition.visits("sleep").lt(nights)).to("sleep").otherwise(END))
        .compile();
  }

  @Test
  void aPictureShowsTheNewWayWithoutSecrets() {
    Divergence divergence =
        Objects.requireNonNull(Replay.of(order(3, "acme", 1), small()).divergence());

    assertThat(divergence.node()).isEqualTo("ask_seats");
    assertThat(divergence.picture().svg()).doesNotContain("ann@acme.com");
    assertThat(divergence.pictureNow().shapes())
        .filteredOn(shape -> shape.path().equals("ask_boss"))
        .allMatch(shape -> shape.mark().visits() == 1);
    assertThat(List.of(divergence.pictureNow().svg())).noneMatch(svg -> svg.contains("ann@acme"));
  }
}
