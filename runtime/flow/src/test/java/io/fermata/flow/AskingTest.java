package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Violation;
import io.fermata.flow.route.Condition;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How questions are put, and what becomes of the answers. */
public class AskingTest {
  // --- the example of the contract ------------------------------------------------------------

  @Test
  void aCompanyIsAskedForItsSize() {
    Driver quote = new Driver(QuoteFlow.builder().compile());

    Outcome.Interrupt both = (Outcome.Interrupt) quote.start();
    assertThat(both.context()).isEqualTo("Ask both in one message.");
    assertThat(both.questions())
        .extracting(Event.Question::field, Event.Question::question, Event.Question::context)
        .containsExactly(
            tuple("name", "What's your name?", null),
            tuple("email", "What's your work email?", "Politely refuse generic domains."));

    Outcome.Interrupt size =
        (Outcome.Interrupt) quote.proceed("name", "Ada", "email", "Ada@Example.com ");
    assertThat(size.questions())
        .singleElement()
        .satisfies(
            q -> {
              assertThat(q.field()).isEqualTo("companySize");
              assertThat(q.suggestions()).containsExactly("1-10", "11-50", "51+");
              assertThat(q.schema()).isEqualTo(quote.program.flow().fieldSchema("companySize"));
            });

    Outcome.ShowWidget plans = (Outcome.ShowWidget) quote.proceed("companySize", "51+");
    assertThat(plans.widget().tool()).isEqualTo("show_plans");
    assertThat(plans.widget().data()).isEqualTo(Driver.object("price", 10, "segment", "company"));

    assertThat(result(quote.proceed("selectedPlan", "gold")))
        .isEqualTo(Driver.object("name", "Ada", "price", 10, "plan", "gold"));
    assertThat(quote.performed).isEqualTo(2);
  }

  @Test
  void aPersonIsNot() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada", "seats", 3);
    Outcome.ShowWidget plans = (Outcome.ShowWidget) quote.proceed("email", "ada@gmail.com");
    assertThat(plans.widget().data()).isEqualTo(Driver.object("price", 15, "segment", "personal"));
  }

  // --- pre-filling ----------------------------------------------------------------------------

  @Test
  void whatTheClientKnowsAtStartIsNotAsked() {
    assertThat(asked(drive(ask(talk(), "a", "b", "c"), "ask_a").start("b", "x")))
        .containsExactly("a", "c");
  }

  @Test
  void aRunWithAllAnswersNeedsOneCall() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    Outcome end =
        quote.start(
            "name",
            "Ada",
            "email",
            "ADA@example.com",
            "companySize",
            "51+",
            "selectedPlan",
            "gold");
    assertThat(result(end).path("plan").asText()).isEqualTo("gold");
    assertThat(quote.events(Event.Asked.class)).isEmpty();
  }

  @Test
  void thePrefilledAnswerIsValidatedAllTheSame() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    Outcome.Failure refused = failure(quote.start("name", "Ada", "email", "nobody"));
    assertThat(refused.code()).isEqualTo("answer_rejected");
    assertThat(refused.field()).isEqualTo("email");
    assertThat(refused.message()).isEqualTo("That does not look like an email.");
    assertThat(asked(refused)).containsExactly("email");
  }

  @Test
  void anAnswerToALaterQuestionIsKeptForIt() {
    Driver talk = drive(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b");
    talk.start();
    assertThat(asked(talk.proceed("b", "2"))).containsExactly("a");
    assertThat(result(talk.proceed("a", "1")).path("b").asText()).isEqualTo("2");
  }

  @Test
  void aPrefilledAnswerMayChangeUntilItsQuestionHasPassed() {
    Driver talk = drive(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b");
    talk.start("b", "early");
    talk.proceed("b", "late");
    assertThat(result(talk.proceed("a", "1")).path("b").asText()).isEqualTo("late");
  }

  // --- several questions at once --------------------------------------------------------------

  @Test
  void onlyTheOpenQuestionsAreAskedInDeclaredOrder() {
    Driver talk = drive(ask(talk(), "a", "b", "c"), "ask_a");
    assertThat(asked(talk.start())).containsExactly("a", "b", "c");
    assertThat(asked(talk.proceed("b", "x"))).containsExactly("a", "c");
    assertThat(asked(talk.proceed("c", "x"))).containsExactly("a");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void questionsKeepTheWordsInWhichTheyWereFirstPut() {
    List<String> built = new ArrayList<>();
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask_a",
                    q ->
                        q.question("a", s -> said(built, "a?"), o -> {})
                            .question("b", s -> said(built, "b? " + s.a()), o -> {})),
            "ask_a");
    talk.start();
    Outcome.Interrupt left = (Outcome.Interrupt) talk.proceed("a", "x");
    assertThat(left.questions().get(0).question()).isEqualTo("b? null");
    assertThat(built).containsExactly("a?", "b? null");
  }

  private static String said(List<String> all, String text) {
    all.add(text);
    return text;
  }

  @Test
  void falseZeroAndTheEmptyListAreAnswers() {
    Driver talk = drive(ask(talk(), "flag", "number", "list"), "ask_flag");
    talk.start();
    Outcome end = talk.proceed("flag", false, "number", 0, "list", List.of());
    assertThat(result(end)).isEqualTo(Driver.object("flag", false, "number", 0, "list", List.of()));
  }

  @Test
  void nullAndTheEmptyTextAreNot() {
    Driver talk = drive(ask(talk(), "a", "b"), "ask_a");
    talk.start();
    assertThat(asked(talk.proceed("a", "", "b", JsonNodeFactory.instance.nullNode())))
        .containsExactly("a", "b");
    assertThat(talk.state.data()).isEmpty();
  }

  // --- nothing of a wrong call is applied -----------------------------------------------------

  @Test
  void aCallThatDoesNotFitTheSchemaAppliesNothing() {
    Driver talk = drive(ask(talk(), "a", "number"), "ask_a");
    talk.start();
    RunState before = talk.state;
    Outcome refused = talk.proceed("a", "good", "number", "bad", "nonsense", 1);
    assertThat(code(refused)).isEqualTo("invalid_updates");
    assertThat(violated(refused)).containsExactly("nonsense", "number");
    assertThat(failure(refused).message()).contains("nonsense", "number", "nothing was applied");
    assertThat(asked(refused)).containsExactly("a", "number");
    assertThat(talk.state).isSameAs(before);
  }

  @Test
  void aComputedFieldCannotBeSent() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    assertThat(violated(talk.start("computed", "x"))).containsExactly("computed");
    assertThat(talk.state.running()).isFalse();
  }

  @Test
  void aRunNeedsAnIntent() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    assertThat(code(talk.call(new Input.Start("r", "  ", Json.object(), 1))))
        .isEqualTo("missing_intent");
  }

  record Range(@Nullable Integer low, @Nullable Integer high) {
    Range {
      if (low != null && high != null && low > high) {
        throw new IllegalArgumentException("low > high");
      }
    }
  }

  @Test
  void aRecordThatRefusesItsValuesIsAViolation() {
    Flow<Range> range =
        Flow.of("range", Range.class)
            .description("Takes a range.")
            .ask("ask", q -> q.question("low", "From?").question("high", "To?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();
    Driver driver = new Driver(range);
    driver.start("low", 5);
    Outcome refused = driver.proceed("high", 1);
    assertThat(code(refused)).isEqualTo("invalid_updates");
    assertThat(violated(refused)).containsExactly("high");
    assertThat(driver.proceed("high", 6)).isInstanceOf(Outcome.Complete.class);
  }

  record Booking(@Nullable String guest, @Nullable Range nights) {}

  @Test
  void ofAnswersThatCannotBeReadTogetherOnlyThoseOfTheRecordThatRefusesThemAreViolations() {
    Flow<Booking> booking =
        Flow.of("booking", Booking.class)
            .description("Books nights.")
            .ask(
                "ask",
                q ->
                    q.question("guest", "Who?")
                        .question("nights.low", "From?")
                        .question("nights.high", "To?"))
            .edge(Flow.START, "ask")
            .edge("ask", Flow.END)
            .compile();
    Driver driver = new Driver(booking);
    driver.start();

    Outcome refused = driver.proceed("guest", "ann", "nights.low", 5, "nights.high", 1);

    assertThat(violated(refused)).containsExactly("nights.low, nights.high");
  }

  // --- repeats --------------------------------------------------------------------------------

  @Test
  void anEmptyContinueRepeatsThePause() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    Outcome first = talk.start();
    int events = talk.journal.size();
    assertThat(talk.proceed()).isEqualTo(first);
    assertThat(talk.journal).hasSize(events);
  }

  @Test
  void anEmptyContinueDoesNotRepeatTheErrorOfAnEarlierCall() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start();
    assertThat(code(quote.proceed("email", "bad"))).isEqualTo("answer_rejected");
    assertThat(quote.proceed()).isInstanceOf(Outcome.Interrupt.class);
    assertThat(asked(quote.proceed("name", "Ada"))).containsExactly("email");
    assertThat(quote.proceed()).isInstanceOf(Outcome.Interrupt.class);
  }

  @Test
  void theSameAnswerTwiceIsNotTheAnswerToTheNextQuestion() {
    Driver talk = drive(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b");
    talk.start();
    Outcome next = talk.proceed("a", "x");
    int events = talk.journal.size();
    assertThat(talk.proceed("a", "x")).isEqualTo(next);
    assertThat(talk.journal).hasSize(events);
  }

  @Test
  void aRepeatMayWriteANumberAnotherWay() {
    Driver talk = drive(ask(ask(talk(), "number"), "b"), "ask_number", "ask_b");
    talk.start();
    talk.proceed("number", 5);
    assertThat(asked(talk.proceed("number", Json.tree(new BigDecimal("5.0")))))
        .containsExactly("b");
  }

  @Test
  void aNormalisedAnswerMayBeRepeatedAsItWasGivenOrAsItStands() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada");
    quote.proceed("email", "Ada@Example.com");
    assertThat(asked(quote.proceed("email", "Ada@Example.com"))).containsExactly("companySize");
    assertThat(asked(quote.proceed("email", "ada@example.com"))).containsExactly("companySize");
  }

  @Test
  void anotherAnswerToAPassedQuestionIsRefused() {
    Driver talk = drive(ask(ask(talk(), "a"), "b"), "ask_a", "ask_b");
    talk.start();
    talk.proceed("a", "x");
    RunState before = talk.state;
    Outcome refused = talk.proceed("a", "y", "b", "z");
    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(((Outcome.Failure) refused).message()).containsOnlyOnce("reset");
    assertThat(violated(refused)).containsExactly("a");
    assertThat(asked(refused)).containsExactly("b");
    assertThat(talk.state).isSameAs(before);
  }

  @Test
  void theSecondOfTwoAnswersToOneQuestionIsRefused() {
    Driver talk = drive(ask(talk(), "a", "b"), "ask_a");
    talk.start();
    talk.proceed("a", "first");
    assertThat(code(talk.proceed("a", "second"))).isEqualTo("already_answered");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "first"));
  }

  @Test
  void aFieldThatNobodyAsksForChangesOnlyUntilTheRunHasGoneOnWithIt() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("seats", 2);
    quote.proceed("seats", 3);
    quote.proceed("name", "Ada", "email", "ada@gmail.com");
    assertThat(code(quote.proceed("seats", 4))).isEqualTo("already_answered");
    assertThat(asked(quote.proceed("seats", 3))).containsExactly("selectedPlan");
    assertThat(quote.state.data().path("price").decimalValue()).isEqualByComparingTo("15");
  }

  @Test
  void aFieldThatNobodyAsksForIsRefusedOnceAStepHasDoneWithoutIt() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada", "email", "ada@gmail.com");

    Outcome refused = quote.proceed("seats", 3, "selectedPlan", "gold");

    assertThat(code(refused)).isEqualTo("already_answered");
    assertThat(failure(refused).violations())
        .containsExactly(new Violation("seats", "was left out before"));
    assertThat(failure(refused).message()).contains("reset");
    Outcome.ShowWidget plans = (Outcome.ShowWidget) quote.reset("seats", 3);
    assertThat(plans.widget().data()).isEqualTo(Driver.object("price", 15, "segment", "personal"));
  }

  @Test
  void aFieldThatNobodyAsksForIsTakenAsLongAsNoStepMayHaveReadIt() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "c")
                .act("greet", run -> run.set("computed", run.state().a()), o -> o.reads("a"))
                .edge(START, "ask_a")
                .edge("ask_a", "greet")
                .decide("greet", d -> d.when(Condition.gt("number", 6)).to(END).otherwise("ask_c"))
                .edge("ask_c", END)
                .compile());
    talk.start("a", "x");

    assertThat(code(talk.proceed("number", 7))).isEqualTo("already_answered");
    assertThat(asked(talk.proceed("b", "y"))).containsExactly("c");
    assertThat(result(talk.proceed("c", "z")).path("b").asText()).isEqualTo("y");
  }

  @Test
  void aFieldThatNobodyAsksForIsRefusedOnceTheRuleOfTheStartHasDoneWithoutIt() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .decide(START, d -> d.when(Condition.gt("number", 6)).to(END).otherwise("ask_a"))
                .edge("ask_a", END)
                .compile());
    talk.start();

    assertThat(code(talk.proceed("number", 7))).isEqualTo("already_answered");
  }

  @Test
  void aFieldThatNobodyAsksForIsTakenWhileALoopMayReadItAgain() {
    Driver talk =
        new Driver(
            ask(talk(), "a")
                .act("draft", run -> run.set("computed", "for " + run.state().number()))
                .edge(START, "draft")
                .edge("draft", "ask_a")
                .decide("ask_a", d -> d.when(Condition.eq("a", "good")).to(END).otherwise("draft"))
                .compile());
    talk.start();

    assertThat(asked(talk.proceed("number", 7, "a", "bad"))).containsExactly("a");
    assertThat(talk.state.data().path("computed").asText()).isEqualTo("for 7");
  }

  @Test
  void aFieldThatNobodyAsksForIsRefusedWhileWhatACorrectionUndoesCannotBeUndone() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "a"), "c")
                .act("look", run -> run.set("computed", "found"))
                .act("charge", run -> {})
                .compensate(
                    "charge",
                    run -> {
                      throw new IllegalStateException("The bank is closed.");
                    })
                .edge(START, "look")
                .edge("look", "ask_a")
                .edge("ask_a", "charge")
                .edge("charge", "ask_c")
                .edge("ask_c", END)
                .compile());
    talk.start();
    talk.proceed("a", "x");
    assertThat(code(talk.reset("a", "y"))).isEqualTo("compensation_failed");

    assertThat(code(talk.proceed("number", 7))).isEqualTo("already_answered");
  }

  // --- nested fields --------------------------------------------------------------------------

  @Test
  void partsOfARecordAreAskedOneByOne() {
    Driver talk = drive(ask(talk(), "address.street", "address.city"), "ask_address_street");
    assertThat(asked(talk.start("address", Map.of("city", "Rome"))))
        .containsExactly("address.street");
    assertThat(result(talk.proceed("address.street", "Via")))
        .isEqualTo(Driver.object("address", Map.of("city", "Rome", "street", "Via")));
  }

  @Test
  void aWholeRecordMayBeAskedForAndAnsweredByDottedKeys() {
    Driver talk = drive(ask(talk(), "address"), "ask_address");
    talk.start();
    assertThat(result(talk.proceed("address.street", "Via", "address.city", "Rome")))
        .isEqualTo(Driver.object("address", Map.of("street", "Via", "city", "Rome")));
  }

  // --- the life of a run ----------------------------------------------------------------------

  @Test
  void startingOverAbandonsTheUnfinishedRunInTheJournal() {
    Driver talk = drive(ask(talk(), "a", "b"), "ask_a");
    talk.start("a", "x");
    String first = talk.state.runId();
    assertThat(asked(talk.start())).containsExactly("a", "b");
    assertThat(talk.state.runId()).isNotEqualTo(first);
    assertThat(talk.events(Event.Abandoned.class)).hasSize(1);
    assertThat(talk.state.data()).isEmpty();
  }

  @Test
  void aRefusedStartAbandonsNothing() {
    Driver talk = drive(ask(talk(), "a"), "ask_a");
    talk.start();
    RunState before = talk.state;
    talk.start("nonsense", 1);
    assertThat(talk.state).isSameAs(before);
  }

  @Test
  void aSecondStartWithTheSameRunIdIsTheSameStart() {
    Driver talk = drive(ask(talk(), "a", "b"), "ask_a");
    Input again = new Input.Start("same", "to test", Driver.object("a", "x"), 5);
    Outcome first = talk.call(again);
    int events = talk.journal.size();
    assertThat(talk.call(again)).isEqualTo(first);
    assertThat(talk.journal).hasSize(events);
    talk.proceed("b", "y");
    assertThat(talk.call(again)).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void unknownCompletedCancelledAndExpiredRunsAreDistinguished() {
    Driver talk = drive(ask(talk().expireAfter(Duration.ofDays(1)), "a"), "ask_a");
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("unknown_run");
    assertThat(code(talk.cancel())).isEqualTo("unknown_run");

    talk.start("a", "x");
    assertThat(code(talk.proceed())).isEqualTo("run_completed");
    assertThat(code(talk.proceed("a", "y"))).isEqualTo("run_completed");
    assertThat(code(talk.reset("a", "y"))).isEqualTo("run_completed");

    talk.start();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("run_cancelled");
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");

    talk.start();
    talk.now += Duration.ofDays(1).toMillis() + 1;
    assertThat(code(talk.proceed("a", "x"))).isEqualTo("run_expired");
    assertThat(code(talk.reset("a", "x"))).isEqualTo("run_expired");
    assertThat(asked(talk.start())).containsExactly("a");
  }

  @Test
  void anAnswerKeepsARunFromExpiring() {
    Driver talk = drive(ask(talk().expireAfter(Duration.ofDays(1)), "a", "b"), "ask_a");
    talk.start();
    talk.now += Duration.ofHours(20).toMillis();
    talk.proceed("a", "x");
    talk.now += Duration.ofHours(20).toMillis();
    assertThat(talk.proceed("b", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void anExpiredRunMayStillBeCancelled() {
    Driver talk = drive(ask(talk().expireAfter(Duration.ofDays(1)), "a"), "ask_a");
    talk.start();
    talk.now += Duration.ofDays(2).toMillis();
    assertThat(code(talk.cancel())).isEqualTo("run_cancelled");
  }

  // --- what an author's code may break --------------------------------------------------------

  @Test
  void aQuestionThatThrowsLosesNothingAndIsPutAgainOnContinue() {
    boolean[] broken = {true};
    Driver talk =
        drive(
            ask(talk(), "a")
                .ask("ask_b", q -> q.question("b", s -> orThrow(broken, "b?"), o -> {})),
            "ask_a",
            "ask_b");
    talk.start();
    Outcome.Failure failed = failure(talk.proceed("a", "x"));
    assertThat(failed.code()).isEqualTo("question_failed");
    assertThat(failed.message()).doesNotContain("secret");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
    assertThat(code(talk.proceed())).isEqualTo("question_failed");
    broken[0] = false;
    assertThat(asked(talk.proceed())).containsExactly("b");
  }

  @Test
  void suggestionsAndContextsThatThrowAreTreatedAlike() {
    boolean[] broken = {true};
    Driver suggestions =
        drive(
            talk()
                .ask(
                    "ask_a",
                    q -> q.question("a", "a?", o -> o.suggest(s -> List.of(orThrow(broken, "x"))))),
            "ask_a");
    Driver context =
        drive(
            talk()
                .ask("ask_a", q -> q.question("a", "a?").context(s -> orThrow(broken, "context"))),
            "ask_a");
    for (Driver talk : List.of(suggestions, context)) {
      broken[0] = true;
      assertThat(code(talk.start())).isEqualTo("question_failed");
      broken[0] = false;
      assertThat(asked(talk.proceed())).containsExactly("a");
    }
  }

  @Test
  void tooManySuggestionsAreAFailureOfTheFlow() {
    List<String> many = Collections.nCopies(101, "x");
    Driver talk =
        drive(talk().ask("ask_a", q -> q.question("a", "a?", o -> o.suggest(s -> many))), "ask_a");
    assertThat(code(talk.start())).isEqualTo("question_failed");
  }

  @Test
  void anErrorIsNotLetThroughEither() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask_a",
                    q ->
                        q.question(
                            "a",
                            s -> {
                              throw new AssertionError("not yet implemented");
                            },
                            o -> {})),
            "ask_a");
    assertThat(code(talk.start())).isEqualTo("question_failed");
  }

  @Test
  void anAnswerGivenWhileTheQuestionCannotBePutIsKept() {
    boolean[] broken = {true};
    Driver talk =
        drive(
            talk().ask("ask_a", q -> q.question("a", s -> orThrow(broken, "a?"), o -> {})),
            "ask_a");
    talk.start();
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aResultThatThrowsIsBuiltAgainOnContinue() {
    boolean[] broken = {true};
    Driver talk = drive(ask(talk().result(s -> orThrow(broken, "done")), "a"), "ask_a");
    Outcome stopped = talk.start("a", "x");
    assertThat(code(stopped)).isEqualTo("result_failed");
    assertThat(failure(stopped).message()).contains("could not build its result. C");
    assertThat(talk.state.running()).isTrue();
    broken[0] = false;
    assertThat(result(talk.proceed()).asText()).isEqualTo("done");
  }

  @Test
  void aFlowWithoutAResultReturnsNone() {
    Flow<Flows.Talk> flow =
        Flows.chain(ask(Flow.of("talk", Flows.Talk.class).description("Talks."), "a"), "ask_a")
            .compile();
    assertThat(new Driver(flow).start("a", "x")).isEqualTo(new Outcome.Complete(null));
  }

  public static String orThrow(boolean[] broken, String text) {
    if (broken[0]) {
      throw new IllegalStateException("secret");
    }
    return text;
  }
}
