package io.fermata.flow.action;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flows;
import io.fermata.flow.QuestionOptions;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** How answers are checked, at once and by asking the world. */
class ValidatorTest {
  private final List<String> checked = new ArrayList<>();

  private Verdict check(String answer) {
    checked.add(answer);
    if (answer.startsWith("throw")) {
      throw new IllegalStateException("secret");
    }
    return answer.startsWith("bad")
        ? Verdict.reject("Not " + answer + ".")
        : Verdict.accept(answer.toUpperCase(Locale.ROOT)).set("computed", "from " + answer);
  }

  private CompletionStage<Verdict> checkLater(String answer) {
    return CompletableFuture.completedStage(check(answer));
  }

  private Driver quick() {
    return ask(o -> o.validate(this::check));
  }

  private Driver async(Consumer<EffectOptions> options) {
    return ask(o -> o.validateAsync(this::checkLater, options));
  }

  /** Asks for a and b, which are both checked, and for c, which is not. */
  private static Driver ask(Consumer<QuestionOptions<Flows.Talk>> check) {
    return drive(
        talk()
            .ask(
                "ask",
                q -> q.question("a", "a?", check).question("b", "b?", check).question("c", "c?")),
        "ask");
  }

  private List<Driver> both() {
    return List.of(quick(), async(o -> {}));
  }

  @Test
  void anAcceptedAnswerMayBeNormalisedAndSetFurtherFields() {
    for (Driver talk : both()) {
      talk.start("b", "y", "c", "z");
      assertThat(result(talk.proceed("a", "x")))
          .isEqualTo(Driver.object("a", "X", "b", "Y", "c", "z", "computed", "from x"));
    }
  }

  @Test
  void aRejectedAnswerLeavesTheOthersOfItsCall() {
    for (Driver talk : both()) {
      talk.start();
      Outcome.Failure refused = failure(talk.proceed("a", "bad", "b", "good", "c", "z"));
      assertThat(refused.code()).isEqualTo("answer_rejected");
      assertThat(refused.message()).isEqualTo("Not bad.");
      assertThat(refused.field()).isEqualTo("a");
      assertThat(asked(refused)).containsExactly("a");
      assertThat(talk.state.data().path("b").asText()).isEqualTo("GOOD");
      assertThat(talk.state.data().has("a")).isFalse();
      assertThat(talk.proceed("a", "fine")).isInstanceOf(Outcome.Complete.class);
    }
  }

  @Test
  void aQuestionThatIsPutOffStillSaysWhyItsAnswerWasRefusedUntilAnotherIsGiven() {
    for (Driver talk : both()) {
      talk.start();
      talk.proceed("a", "bad", "b", "good", "c", "z");
      Outcome again = talk.call(new Input.Postpone(Set.of("a", "b"), talk.now++));
      assertThat(failure(again).message()).isEqualTo("Not bad.");
      assertThat(talk.events(Event.Postponed.class))
          .extracting(Event.Postponed::field)
          .containsExactly("a");
      assertThat(talk.proceed("a", "fine")).isInstanceOf(Outcome.Complete.class);
    }
  }

  @Test
  void everyRejectionOfACallIsNamed() {
    for (Driver talk : both()) {
      talk.start();
      Outcome.Failure refused = failure(talk.proceed("a", "bad1", "b", "bad2"));
      assertThat(violated(refused)).containsExactly("a", "b");
      assertThat(refused.message()).isEqualTo("a: Not bad1.\nb: Not bad2.");
      assertThat(asked(refused)).containsExactly("a", "b", "c");
    }
  }

  @Test
  void theSameWrongAnswerIsRefusedAgain() {
    for (Driver talk : both()) {
      talk.start();
      talk.proceed("a", "bad");
      assertThat(code(talk.proceed("a", "bad"))).isEqualTo("answer_rejected");
      assertThat(asked(talk.proceed("a", "good"))).containsExactly("b", "c");
    }
  }

  @Test
  void anAcceptedAnswerIsNotCheckedAgain() {
    for (Driver talk : both()) {
      checked.clear();
      talk.start("a", "x");
      talk.proceed("c", "z");
      talk.proceed("a", "x");
      talk.proceed();
      assertThat(checked).containsExactly("x");
    }
  }

  @Test
  void aValidatorThatThrowsLosesNothingAndContinueChecksAgain() {
    for (Driver talk : both()) {
      talk.start();
      Outcome.Failure failed = failure(talk.proceed("a", "throw", "c", "z"));
      assertThat(failed.code()).isEqualTo("validator_failed");
      assertThat(failed.message())
          .contains("check an answer: a", "send another answer")
          .doesNotContain("secret");
      assertThat(failed.field()).isEqualTo("a");
      assertThat(asked(failed)).contains("a");
      assertThat(talk.state.data()).isEqualTo(Driver.object("a", "throw", "c", "z"));
      checked.clear();
      assertThat(code(talk.proceed())).isEqualTo("validator_failed");
      assertThat(checked).containsExactly("throw");
      assertThat(asked(talk.proceed("a", "fine"))).containsExactly("b");
    }
  }

  @Test
  void aVerdictThatDoesNotFitIsAFailureOfTheValidator() {
    for (Verdict unfit :
        List.of(
            Verdict.accept(List.of("a list")),
            Verdict.accept().set("nonsense", 1),
            Verdict.accept(new Object()),
            Verdict.accept().set("number", new Object()),
            Verdict.accept().set("number", "many"))) {
      for (Driver talk :
          List.of(
              ask(o -> o.validate((String a) -> unfit)),
              ask(o -> o.validateAsync((String a) -> CompletableFuture.completedStage(unfit))))) {
        assertThat(code(talk.start("a", "x"))).isEqualTo("validator_failed");
        assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
        String field =
            unfit instanceof Verdict.Accepted accepted && !accepted.sets().isEmpty()
                ? accepted.sets().keySet().iterator().next()
                : "a";
        Event.Stopped stopped = talk.events(Event.Stopped.class).get(0);
        assertThat(stopped.detail())
            .contains(
                "The verdict on a at " + stopped.place(), "which gives " + field + " a value");
      }
    }
  }

  @Test
  @SuppressWarnings("NullAway") // what an author without a null checker may do
  void aValidatorWithoutAVerdictHasFailed() {
    assertThat(code(ask(o -> o.validate((String a) -> null)).start("a", "x")))
        .isEqualTo("validator_failed");
    assertThat(
            code(
                ask(o -> o.validateAsync((String a) -> CompletableFuture.completedStage(null)))
                    .start("a", "x")))
        .isEqualTo("validator_failed");
    assertThat(code(ask(o -> o.validateAsync((String a) -> null)).start("a", "x")))
        .isEqualTo("validator_failed");
  }

  @Test
  void aValidatorOfTheWrongTypeHasFailed() {
    Driver talk = ask(o -> o.validate((Integer a) -> Verdict.accept(a + 1)));
    assertThat(code(talk.start("a", "x"))).isEqualTo("validator_failed");
  }

  @Test
  void aVerdictMayAnswerAQuestionThatComesBeforeIts() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "a?")
                            .question(
                                "b",
                                "b?",
                                o ->
                                    o.validate((String b) -> Verdict.accept().set("a", "from b")))),
            "ask");
    talk.start();
    assertThat(result(talk.proceed("b", "x"))).isEqualTo(Driver.object("a", "from b", "b", "x"));
  }

  @Test
  void theSetsOfAVerdictKeepTheirOrder() {
    Verdict.Accepted verdict = Verdict.accept();
    for (int i = 0; i < 20; i++) {
      verdict = verdict.set("field" + i, i);
    }
    assertThat(verdict.sets().keySet().stream().toList())
        .isSortedAccordingTo(Comparator.comparingInt(f -> Integer.parseInt(f.substring(5))));
  }

  @Test
  void theAnswerIsJournaledBeforeItIsCheckedByAnEffect() {
    Driver talk = async(o -> {});
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "x"), 5));
    assertThat(checked).isEmpty();
    assertThat(talk.journal.get(talk.journal.size() - 1)).isInstanceOf(Event.Attempted.class);
    assertThat(talk.pendingEffect().field()).isEqualTo("a");
    talk.settle();
    assertThat(checked).containsExactly("x");
  }

  @Test
  void everyCheckHasTheAttemptsOfItsPolicy() {
    int[] calls = {0};
    Driver talk =
        ask(
            o ->
                o.validateAsync(
                    (String answer) -> {
                      if (++calls[0] % 2 == 1) {
                        throw new IllegalStateException("flaky");
                      }
                      return CompletableFuture.completedStage(Verdict.accept());
                    },
                    e -> e.retry(2, Duration.ofSeconds(1))));
    assertThat(asked(talk.start("a", "x", "b", "y"))).containsExactly("c");
    assertThat(talk.events(Event.AttemptFailed.class)).hasSize(2);
  }

  @Test
  void aNewAnswerEndsTheCheckOfTheOneItReplaces() {
    Driver talk = async(o -> {});
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "good"), 5));
    StepEffect old = talk.pendingEffect();
    Input.Result verdict = talk.result(old);
    talk.feed(new Input.Continue(Driver.object("a", "bad"), 6));
    talk.feed(new Input.EffectEnded(old, verdict, 7));
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "bad"));
    assertThat(code(talk.settle())).isEqualTo("answer_rejected");
    assertThat(talk.state.data().has("a")).isFalse();
  }

  @Test
  void aRepeatedAnswerDoesNotDisturbItsCheck() {
    Driver talk = async(o -> {});
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "good"), 5));
    StepEffect check = talk.pendingEffect();
    talk.feed(new Input.Continue(Driver.object("a", "good"), 6));
    assertThat(talk.pendingEffect()).isEqualTo(check);
  }

  @Test
  void aNewAnswerMayReplaceOneWhoseCheckWaitsForItsNextAttempt() {
    Driver talk = async(o -> o.retry(5, Duration.ofHours(1)));
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "throw"), 5));
    StepEffect check = talk.pendingEffect();
    talk.feed(new Input.EffectEnded(check, talk.result(check), 6));
    assertThat(talk.pendingEffect().due()).isNotNull();
    assertThat(asked(talk.proceed("a", "good"))).containsExactly("b", "c");
    assertThat(talk.now).isLessThan(Duration.ofHours(1).toMillis());
  }

  @Test
  void skippingAnInterruptedCheckTakesTheAnswerAsGood() {
    Driver talk = async(o -> o.once());
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "x"), 5));
    talk.recover();
    assertThat(code(talk.settle())).isEqualTo("outcome_unknown");
    assertThat(asked(talk.resolve(Input.Resolution.SKIP))).containsExactly("b", "c");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "x"));
  }

  @Test
  void aCheckThatACrashInterruptedIsMadeAgain() {
    Driver talk = async(o -> {});
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "x", "b", "y"), 5));
    talk.crash(talk.journal.size());
    talk.recover();
    assertThat(asked(talk.settle())).containsExactly("c");
    assertThat(checked).containsExactly("x", "y");
  }
}
