package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Driver.violated;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fermata.flow.AskingTest;
import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.Flows;
import io.fermata.flow.QuoteFlow;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How answers are corrected. */
class ResetTest {
  private final List<String> ran = new ArrayList<>();

  private Driver steps() {
    FlowBuilder<Flows.Talk> flow = ask(ask(ask(talk(), "a"), "b"), "c");
    flow.act("one", run -> run.append("log", "one " + note("one", run.state().a())));
    flow.act("two", run -> run.append("log", "two " + note("two", run.state().b())));
    return drive(flow, "ask_a", "one", "ask_b", "two", "ask_c");
  }

  private String note(String step, Object seen) {
    ran.add(step);
    return String.valueOf(seen);
  }

  private static String log(Driver talk) {
    return talk.state.data().path("log").toString();
  }

  @Test
  void theRunGoesBackToTheStepThatAskedAndKeepsTheOtherAnswers() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    assertThat(asked(talk.reset("b", "3"))).containsExactly("c");
    assertThat(log(talk)).isEqualTo("[\"one 1\",\"two 3\"]");
    assertThat(ran).containsExactly("one", "two", "two");
  }

  @Test
  void whatWasComputedFromThereOnIsForgotten() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    assertThat(asked(talk.reset("a", "0"))).containsExactly("c");
    assertThat(log(talk)).isEqualTo("[\"one 0\",\"two 2\"]");
  }

  @Test
  void theEarliestOfSeveralStepsDecides() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    talk.reset("b", "3", "a", "0");
    assertThat(log(talk)).isEqualTo("[\"one 0\",\"two 3\"]");
  }

  @Test
  void aFieldThatNobodyAsksForGoesBackToStart() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada", "email", "ada@gmail.com");
    assertThat(asked(quote.reset("seats", 4))).containsExactly("selectedPlan");
    assertThat(quote.state.data().path("price").decimalValue()).isEqualByComparingTo("20");
    assertThat(quote.events(Event.Reset.class).get(0).to())
        .containsExactly(new Event.Back(new Place(Flow.START, 2), Flow.START, true));
  }

  @Test
  void aCorrectionMayChangeTheWay() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada", "email", "ada@gmail.com");
    assertThat(asked(quote.reset("email", "ada@example.com"))).containsExactly("companySize");
    assertThat(quote.state.data().has("price")).isFalse();
  }

  @Test
  void aCorrectionOfAnswersStillToBeAskedGoesNowhere() {
    Driver talk = steps();
    Outcome pause = talk.start();
    assertThat(talk.reset("b", "2")).isEqualTo(pause);
    assertThat(talk.events(Event.Reset.class)).isEmpty();
    assertThat(asked(talk.proceed("a", "1"))).containsExactly("c");
  }

  @Test
  void keptAnswersAreValidatedAsTheyWereGiven() {
    List<String> checked = new ArrayList<>();
    Driver talk =
        drive(
            ask(talk(), "a")
                .ask(
                    "ask_b",
                    q ->
                        q.question(
                            "b",
                            "b?",
                            o ->
                                o.validate(
                                    (String b) -> {
                                      checked.add(b);
                                      return Verdict.accept(b + "!");
                                    })))
                .ask("ask_c", q -> q.question("c", "c?")),
            "ask_a",
            "ask_b",
            "ask_c");
    talk.start("a", "1", "b", "2");
    talk.reset("a", "0");
    assertThat(checked).containsExactly("2", "2");
    assertThat(talk.state.data()).isEqualTo(Driver.object("a", "0", "b", "2!"));
  }

  @Test
  void aCorrectedAnswerIsValidated() {
    Driver quote = new Driver(QuoteFlow.builder().compile());
    quote.start("name", "Ada", "email", "ada@gmail.com");
    Outcome refused = quote.reset("email", "nobody");
    assertThat(code(refused)).isEqualTo("answer_rejected");
    assertThat(asked(refused)).containsExactly("email");
    assertThat(asked(quote.proceed("email", "eve@gmail.com"))).containsExactly("selectedPlan");
  }

  @Test
  void aCorrectionToNothingAsksAgain() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    assertThat(asked(talk.reset("b", JsonNodeFactory.instance.nullNode()))).containsExactly("b");
    assertThat(log(talk)).isEqualTo("[\"one 1\"]");
    assertThat(asked(talk.proceed("b", "3"))).containsExactly("c");
  }

  @Test
  void anAnswerThatWasTakenBackDoesNotComeBackWithACorrectionOfAnEarlierOne() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    assertThat(asked(talk.reset("b", JsonNodeFactory.instance.nullNode()))).containsExactly("b");
    assertThat(asked(talk.reset("a", "0"))).containsExactly("b");
    assertThat(talk.state.data().has("b")).isFalse();
  }

  @Test
  void norIfItsQuestionWasLeftOpenThen() {
    Driver talk =
        drive(
            ask(ask(talk(), "a"), "c").ask("ask_b", q -> q.question("b", "b?", o -> o.optional())),
            "ask_a",
            "ask_b",
            "ask_c");
    talk.start("a", "1", "b", "2");
    talk.reset("b", JsonNodeFactory.instance.nullNode());
    assertThat(asked(talk.proceed())).containsExactly("c");
    assertThat(asked(talk.reset("a", "0"))).containsExactly("c");
    assertThat(talk.state.data().has("b")).isFalse();
  }

  @Test
  void norDoesOneThatWasRefused() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .ask(
                    "ask_b",
                    q -> q.question("b", "b?", o -> o.validate(b -> Verdict.reject("No.")))),
            "ask_a",
            "ask_b");
    assertThat(code(talk.start("a", "1", "b", "2"))).isEqualTo("answer_rejected");
    assertThat(talk.reset("a", "0")).isInstanceOf(Outcome.Interrupt.class);
  }

  @Test
  void aPartOfARecordIsCorrectedAlone() {
    Driver talk =
        drive(
            ask(ask(talk(), "address.street", "address.city"), "a"), "ask_address_street", "ask_a");
    talk.start("address.street", "Via", "address.city", "Rom");
    assertThat(asked(talk.reset("address.city", "Rome"))).containsExactly("a");
    assertThat(talk.state.data())
        .isEqualTo(Driver.object("address", Driver.object("street", "Via", "city", "Rome")));
  }

  @Test
  void aWidgetsChoiceIsCorrectedLikeAnAnswer() {
    Driver talk = drive(ask(talk().widget("pick", w -> w.field("a")), "b"), "pick", "ask_b");
    talk.start();
    talk.proceed("a", "gold");
    assertThat(asked(talk.reset("a", "silver"))).containsExactly("b");
    assertThat(result(talk.proceed("b", "x")).path("a").asText()).isEqualTo("silver");
  }

  @Test
  void correctionsMayFollowEachOther() {
    Driver talk = steps();
    talk.start("a", "1", "b", "2");
    talk.reset("b", "3");
    talk.reset("a", "0");
    talk.reset("b", "4");
    assertThat(log(talk)).isEqualTo("[\"one 0\",\"two 4\"]");
    assertThat(talk.proceed("c", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aFailedStepIsLeftBehindByACorrection() {
    Driver talk =
        drive(
            ask(talk(), "a")
                .act(
                    "act",
                    run -> AskingTest.orThrow(new boolean[] {"bad".equals(run.state().a())}, "")),
            "ask_a",
            "act");
    assertThat(code(talk.start("a", "bad"))).isEqualTo("step_failed");
    assertThat(talk.reset("a", "good")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void theResultOfAStepThatACorrectionOvertookIsNotTaken() {
    Driver talk = steps();
    talk.feed(new Input.Start("r", "i", Driver.object("a", "1"), 1));
    StepEffect old = talk.pendingEffect();
    Input.Result result = talk.result(old);
    talk.feed(new Input.Reset(Driver.object("a", "0"), 2));
    talk.feed(new Input.EffectEnded(old, result, 3));
    assertThat(asked(talk.settle())).containsExactly("b");
    assertThat(log(talk)).isEqualTo("[\"one 0\"]");
  }

  @Test
  void aRedoneStepHasAnotherIdempotencyKey() {
    List<String> keys = new ArrayList<>();
    Driver talk =
        drive(
            ask(ask(talk(), "a").act("act", run -> keys.add(run.idempotencyKey())), "b"),
            "ask_a",
            "act",
            "ask_b");
    talk.start("a", "1");
    talk.reset("a", "2");
    assertThat(keys).doesNotHaveDuplicates().hasSize(2);
  }

  @Test
  void aCorrectionNeedsSomethingToCorrect() {
    Driver talk = steps();
    talk.start("a", "1");
    assertThat(code(talk.reset())).isEqualTo("missing_updates");
    assertThat(violated(talk.reset("nonsense", 1))).containsExactly("nonsense");
  }

  @Test
  void aStepThatMayRunOnlyOnceIsNotGoneBackOver() {
    FlowBuilder<Flows.Talk> flow = ask(ask(ask(talk(), "a"), "b"), "c");
    flow.act("pay", run -> ran.add("pay"), o -> o.once());
    Driver talk = drive(flow, "ask_a", "pay", "ask_b", "ask_c");
    talk.start("a", "1", "b", "2");
    RunState before = talk.state;
    Outcome refused = talk.reset("a", "0");
    assertThat(code(refused)).isEqualTo("reset_past_once");
    assertThat(Driver.failure(refused).message()).contains("pay");
    assertThat(code(talk.reset("flag", true))).isEqualTo("reset_past_once");
    assertThat(talk.state).isSameAs(before);
    assertThat(asked(talk.reset("b", "3"))).containsExactly("c");
    assertThat(code(talk.reset("a", "0"))).isEqualTo("reset_past_once");
    assertThat(ran).containsExactly("pay");
  }
}
