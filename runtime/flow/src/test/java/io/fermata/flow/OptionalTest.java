package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.object;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.chain;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.engine.Redecision;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.record.Trace;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Describe;
import io.fermata.flow.schema.Secret;
import jakarta.validation.constraints.Min;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Questions that a user may leave open, and what their fields then hold. */
class OptionalTest {
  /** Asks for a, and in the same breath for b, which may stay open. */
  private static FlowBuilder<Flows.Talk> askB(Consumer<QuestionOptions<Flows.Talk>> options) {
    return askB(talk(), options);
  }

  private static FlowBuilder<Flows.Talk> askB(
      FlowBuilder<Flows.Talk> flow, Consumer<QuestionOptions<Flows.Talk>> options) {
    return flow.ask("ask", q -> q.question("a", "a?").question("b", "b?", options));
  }

  private static FlowBuilder<Flows.Talk> askB() {
    return askB(QuestionOptions::optional);
  }

  private static FlowBuilder<Flows.Talk> onlyB(
      FlowBuilder<Flows.Talk> flow, Consumer<QuestionOptions<Flows.Talk>> options) {
    return flow.ask("ask_b", q -> q.question("b", "b?", options));
  }

  // --- passing --------------------------------------------------------------------------------

  @Test
  void anOptionalQuestionIsPassedOnceAllThatIsRequiredIsAnswered() {
    Driver talk = drive(askB(), "ask");
    Outcome.Interrupt both = (Outcome.Interrupt) talk.start();
    assertThat(both.questions()).extracting(Event.Question::optional).containsExactly(false, true);
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1"));
    assertThat(talk.events(Event.Passed.class))
        .extracting(Event.Passed::field)
        .containsExactly("b");
  }

  @Test
  void itIsAnsweredAsAnyOther() {
    Driver talk = drive(askB(), "ask");
    talk.start();
    assertThat(asked(talk.proceed("b", "2"))).containsExactly("a");
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1", "b", "2"));
    assertThat(talk.events(Event.Passed.class)).isEmpty();
  }

  @Test
  void whatIsPrefilledDoesNotPassWhatWasNeverPut() {
    Driver talk = drive(askB(), "ask");
    assertThat(asked(talk.start("a", "1"))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object("a", "1"));
  }

  @Test
  void aContinueWithoutAnswersRepeatsWhatIsRequired() {
    Driver talk = drive(askB(), "ask");
    talk.start();
    RunState before = talk.state;
    assertThat(asked(talk.proceed())).containsExactly("a", "b");
    assertThat(talk.state).isSameAs(before);
  }

  @Test
  void whatIsPutOffIsNotPassed() {
    Driver talk = drive(onlyB(talk(), QuestionOptions::optional), "ask_b");
    assertThat(asked(talk.start())).containsExactly("b");
    assertThat(asked(talk.call(new Input.Postpone(Set.of("b"), talk.now++)))).containsExactly("b");
    assertThat(result(talk.proceed("b", "2"))).isEqualTo(object("b", "2"));
  }

  @Test
  void whatIsOnlyShownAgainIsNotPassed() {
    Driver talk = drive(onlyB(talk(), QuestionOptions::optional), "ask_b");
    assertThat(asked(talk.start())).containsExactly("b");
    assertThat(asked(talk.call(new Input.Again(talk.now++)))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object());
  }

  @Test
  void anEmptyAnswerLeavesItOpenToo() {
    Driver talk = drive(askB(), "ask");
    talk.start();
    assertThat(asked(talk.proceed("b", ""))).containsExactly("a", "b");
    assertThat(result(talk.proceed("a", "1", "b", NullNode.getInstance())))
        .isEqualTo(object("a", "1"));
    Driver alone = drive(onlyB(talk(), QuestionOptions::optional), "ask_b");
    alone.start();
    assertThat(result(alone.proceed("b", ""))).isEqualTo(object());
  }

  @Test
  void whatBelongsToALaterQuestionPassesNothing() {
    Driver talk = drive(ask(onlyB(talk(), QuestionOptions::optional), "c"), "ask_b", "ask_c");
    talk.start();
    assertThat(asked(talk.proceed("c", "3"))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object("c", "3"));
  }

  @Test
  void anAnswerThatIsRefusedKeepsWhatWasLeftOpenOpen() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question("a", "a?", o -> o.validate(OptionalTest::judged))
                            .question("b", "b?", o -> o.optional().validate(OptionalTest::judged))),
            "ask");
    talk.start();
    assertThat(asked(talk.proceed("a", "bad"))).containsExactly("a", "b");
    assertThat(asked(talk.proceed("a", "1", "b", "bad"))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object("a", "1"));
  }

  private static Verdict judged(String answer) {
    return answer.equals("bad") ? Verdict.reject("Bad.") : Verdict.accept();
  }

  /** An optional question beside a required one, whose first check fails. */
  private static FlowBuilder<Flows.Talk> failingOnce(FlowBuilder<Flows.Talk> flow) {
    AtomicBoolean broken = new AtomicBoolean(true);
    return askB(
        flow,
        o ->
            o.optional()
                .validate(
                    (String b) -> {
                      if (broken.getAndSet(false)) {
                        throw new IllegalStateException("The service is down.");
                      }
                      return Verdict.accept();
                    }));
  }

  @Test
  void anAnswerThatCouldNotBeCheckedIsCheckedAgainWhenAnotherQuestionIsAnswered() {
    Driver talk = drive(failingOnce(talk()), "ask");
    talk.start();
    assertThat(code(talk.proceed("b", "2"))).isEqualTo("validator_failed");

    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1", "b", "2"));
    assertThat(talk.events(Event.Passed.class)).isEmpty();
  }

  @Test
  void anAnswerThatCouldNotBeCheckedIsLeftOpenByWhoSaysSo() {
    Driver talk = drive(failingOnce(talk()), "ask");
    talk.start();
    talk.proceed("b", "2");

    assertThat(result(talk.proceed("a", "1", "b", ""))).isEqualTo(object("a", "1"));
  }

  @Test
  void whatWasPutOffAfterItsCheckFailedIsAskedAgainAfterACorrection() {
    Driver talk = drive(failingOnce(ask(talk(), "c")), "ask_c", "ask");
    talk.start("c", "3");
    assertThat(code(talk.proceed("b", "2"))).isEqualTo("validator_failed");
    talk.call(new Input.Postpone(Set.of("b"), talk.now++));

    assertThat(asked(talk.reset("c", "4"))).containsExactly("a", "b");
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1", "c", "4"));
  }

  @Test
  void whatWasPutOffAfterItsCheckFailedIsNotInTheState() {
    Driver talk = drive(failingOnce(talk()), "ask");
    talk.start();
    talk.proceed("b", "2");
    talk.call(new Input.Postpone(Set.of("b"), talk.now++));

    assertThat(talk.state.memory("").data()).isEqualTo(object());
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1"));
  }

  @Test
  void anAnswerThatIsCheckedByAnEffectPassesTheOthersWhenItStands() {
    Driver talk =
        drive(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question(
                                "a",
                                "a?",
                                o ->
                                    o.validateAsync(
                                        (String a) -> CompletableFuture.completedStage(judged(a))))
                            .question("b", "b?", QuestionOptions::optional)),
            "ask");
    talk.start();
    assertThat(asked(talk.proceed("a", "bad"))).containsExactly("a", "b");
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1"));
  }

  @Test
  void nothingOfAPausePassesUntilAllBranchesHaveTheirAnswers() {
    FlowBuilder<Flows.Talk> flow = onlyB(ask(ask(talk(), "a"), "c"), QuestionOptions::optional);
    Driver talk =
        new Driver(
            flow.act("act", run -> {})
                .act("done", run -> {})
                .edge(START, "act")
                .fork("act", f -> f.branch("ask_a").branch("ask_c").branch("ask_b").join("done"))
                .edge("ask_a", "done")
                .edge("ask_b", "done")
                .edge("ask_c", "done")
                .edge("done", END)
                .compile());
    assertThat(asked(talk.start())).containsExactly("a", "c", "b");
    assertThat(asked(talk.proceed())).containsExactly("a", "c", "b");
    assertThat(asked(talk.proceed("a", "1"))).containsExactly("c", "b");
    assertThat(result(talk.proceed("c", "3"))).isEqualTo(object("a", "1", "c", "3"));
  }

  // --- only what was put is passed ------------------------------------------------------------

  @Test
  void aQuestionThatNobodyHasSeenIsShownBeforeItIsPassed() {
    Driver talk =
        drive(
            onlyB(talk().sleep("sleep", Duration.ofDays(1)), QuestionOptions::optional),
            "sleep",
            "ask_b");
    talk.start();
    talk.pass();
    assertThat(asked(talk.proceed())).containsExactly("b");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aQuestionThatIsPutAfterItsCallWasAnsweredIsShownBeforeItIsPassed() {
    Driver talk =
        drive(onlyB(talk().act("act", run -> {}), QuestionOptions::optional), "act", "ask_b");
    talk.feed(new Input.Start("run-1", "to test", object(), talk.now++));
    talk.feed(new Input.Unattended(talk.now++));
    assertThat(asked(talk.settle())).containsExactly("b");
    assertThat(asked(talk.proceed())).as("nobody got it").containsExactly("b");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aQuestionThatNobodyHasSeenIsPassedByWhoNamesIt() {
    Driver talk =
        drive(askB(talk().act("act", run -> {}), QuestionOptions::optional), "act", "ask");
    talk.feed(new Input.Start("run-1", "to test", object(), talk.now++));
    talk.feed(new Input.Unattended(talk.now++));
    assertThat(asked(talk.settle())).containsExactly("a", "b");
    Outcome done =
        talk.call(
            new Input.Continue(object("a", "1", "b", NullNode.getInstance()), true, talk.now++));
    assertThat(result(done)).isEqualTo(object("a", "1"));
    Redecision again = new Redecision(talk.program.flow(), Limits.DEFAULT);
    for (Driver.Entry entry : talk.entries) {
      assertThat(again.decide(entry.at(), entry.events())).as("%s", entry).isNull();
    }
  }

  @Test
  void aQuestionThatNobodyHasSeenIsNotPassedByWhoNamesAnother() {
    Driver talk =
        drive(askB(talk().act("act", run -> {}), QuestionOptions::optional), "act", "ask");
    talk.feed(new Input.Start("run-1", "to test", object(), talk.now++));
    talk.feed(new Input.Unattended(talk.now++));
    talk.settle();
    assertThat(asked(talk.call(new Input.Continue(object("a", "1"), true, talk.now++))))
        .containsExactly("b");
    assertThat(result(talk.proceed("b", "2"))).isEqualTo(object("a", "1", "b", "2"));
  }

  @Test
  void aQuestionBehindAWidgetHasNotBeenPut() {
    FlowBuilder<Flows.Talk> flow =
        onlyB(talk().widget("look", w -> w.field("a")), QuestionOptions::optional);
    Driver talk =
        new Driver(
            flow.act("act", run -> {})
                .act("done", run -> {})
                .edge(START, "act")
                .fork("act", f -> f.branch("look").branch("ask_b").join("done"))
                .edge("look", "done")
                .edge("ask_b", "done")
                .edge("done", END)
                .compile());
    assertThat(talk.start()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(asked(talk.proceed("a", "1"))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object("a", "1"));
  }

  @Test
  void aRetryOfAFailedStepPassesNothing() {
    boolean[] broken = {true};
    FlowBuilder<Flows.Talk> flow = onlyB(talk(), QuestionOptions::optional);
    Driver talk =
        new Driver(
            flow.act("begin", run -> {})
                .act(
                    "act",
                    run -> {
                      if (broken[0]) {
                        throw new IllegalStateException("broken");
                      }
                    })
                .act("done", run -> {})
                .edge(START, "begin")
                .fork("begin", f -> f.branch("act").branch("ask_b").join("done"))
                .edge("act", "done")
                .edge("ask_b", "done")
                .edge("done", END)
                .compile());
    assertThat(asked(failure(talk.start()))).containsExactly("b");
    broken[0] = false;
    assertThat(asked(talk.proceed())).containsExactly("b");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  // --- corrections and loops ------------------------------------------------------------------

  @Test
  void aResetNeverPasses() {
    Driver talk = drive(onlyB(ask(talk(), "a"), QuestionOptions::optional), "ask_a", "ask_b");
    talk.start("a", "1");
    assertThat(asked(talk.reset("a", "2"))).containsExactly("b");
    assertThat(asked(talk.reset("b", NullNode.getInstance()))).containsExactly("b");
    assertThat(result(talk.proceed())).isEqualTo(object("a", "2"));
  }

  @Test
  void aCorrectionOfAnotherAnswerDoesNotAskAgainForWhatWasLeftOpen() {
    Driver talk = drive(ask(askB(), "c"), "ask", "ask_c");
    talk.start();
    talk.proceed("a", "1");
    assertThat(asked(talk.reset("a", "2"))).containsExactly("c");
    assertThat(result(talk.proceed("c", "3"))).isEqualTo(object("a", "2", "c", "3"));
  }

  @Test
  void whatWasLeftOpenIsAnsweredByAReset() {
    Driver talk = drive(ask(askB(o -> o.defaultsTo("x")), "c"), "ask", "ask_c");
    talk.start();
    talk.proceed("a", "1");
    Outcome late = talk.proceed("b", "2");
    assertThat(code(late)).isEqualTo("already_answered");
    assertThat(asked(talk.reset("b", "2"))).containsExactly("c");
    assertThat(result(talk.proceed("c", "3"))).isEqualTo(object("a", "1", "b", "2", "c", "3"));
  }

  @Test
  void eachPassOfALoopAsksAgainAndKeepsNothingOfThePassBefore() {
    Driver talk =
        new Driver(
            askB()
                .act("note", run -> run.append("log", String.valueOf(run.state().b())))
                .edge(START, "ask")
                .edge("ask", "note")
                .decide(
                    "note", d -> d.when(Condition.visits("note").lt(3)).to("ask").otherwise(END))
                .compile());
    talk.start();
    assertThat(asked(talk.proceed("a", "1", "b", "first"))).containsExactly("a", "b");
    assertThat(asked(talk.proceed("a", "2"))).containsExactly("a", "b");
    Outcome end = talk.proceed("a", "3", "b", "third");
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("first", "null", "third")));
  }

  @Test
  void aCorrectionInALoopTakesNoLaterAnswerForWhatWasLeftOpen() {
    Driver talk =
        new Driver(
            ask(askB(), "c")
                .edge(START, "ask_c")
                .edge("ask_c", "ask")
                .decide("ask", d -> d.when(Condition.visits("ask").lt(3)).to("ask").otherwise(END))
                .compile());
    talk.start("c", "0");
    talk.proceed("a", "1");
    talk.proceed("a", "2", "b", "second");
    assertThat(asked(talk.reset("c", "9"))).containsExactly("a", "b");
    assertThat(talk.state.data()).isEqualTo(object("c", "9"));
  }

  // --- defaults -------------------------------------------------------------------------------

  @Test
  void theDefaultIsTakenWhenTheQuestionIsPassedAndSaysSoInTheJournal() {
    Driver talk = drive(askB(o -> o.defaultsTo("x")), "ask");
    Outcome.Interrupt both = (Outcome.Interrupt) talk.start();
    assertThat(both.questions().get(1).optional()).isTrue();
    assertThat(Objects.requireNonNull(both.questions().get(1).schema()).path("default"))
        .isEqualTo(Json.tree("x"));
    assertThat(talk.state.data()).isEqualTo(object());
    assertThat(result(talk.proceed("a", "1"))).isEqualTo(object("a", "1", "b", "x"));
    Event.Passed passed = talk.events(Event.Passed.class).get(0);
    assertThat(passed.value()).isEqualTo(Json.tree("x"));
    assertThat(Driver.fold(talk.journal)).isEqualTo(talk.state);
  }

  @Test
  void aDefaultNeverOverwritesAnAnswer() {
    Driver talk = drive(askB(o -> o.defaultsTo("x")), "ask");
    assertThat(result(talk.start("a", "1", "b", "2"))).isEqualTo(object("a", "1", "b", "2"));
    Driver later = drive(askB(o -> o.defaultsTo("x")), "ask");
    later.start("b", "2");
    assertThat(result(later.proceed("a", "1"))).isEqualTo(object("a", "1", "b", "2"));
  }

  @Test
  void aCorrectionElsewhereKeepsTheDefault() {
    Driver talk = drive(ask(askB(o -> o.defaultsTo("x")), "c"), "ask", "ask_c");
    talk.start();
    talk.proceed("a", "1");
    talk.reset("a", "2");
    assertThat(result(talk.proceed("c", "3"))).isEqualTo(object("a", "2", "b", "x", "c", "3"));
  }

  @Test
  void theToolSaysWhatIsTakenByDefault() {
    Flow<?> flow = chain(askB(o -> o.defaultsTo("x")), "ask").compile();
    JsonNode answers = flow.answersSchema();
    assertThat(answers.at("/properties/b/default")).isEqualTo(Json.tree("x"));
    assertThat(answers.at("/properties/a/default").isMissingNode()).isTrue();
    Flow<?> nested =
        chain(
                talk().ask("ask", q -> q.question("address.city", "c?", o -> o.defaultsTo("Ulm"))),
                "ask")
            .compile();
    assertThat(nested.answersSchema().at("/properties/address/properties/city/default"))
        .isEqualTo(Json.tree("Ulm"));
  }

  @Test
  void whatMayBeLeftOpenIsPartOfTheGraph() {
    String plain = chain(askB(o -> {}), "ask").compile().fingerprint();
    String optional = chain(askB(), "ask").compile().fingerprint();
    String defaulted = chain(askB(o -> o.defaultsTo("x")), "ask").compile().fingerprint();
    String other = chain(askB(o -> o.defaultsTo("y")), "ask").compile().fingerprint();
    assertThat(List.of(plain, optional, defaulted, other)).doesNotHaveDuplicates();
  }

  // --- defects --------------------------------------------------------------------------------

  record Order(
      @Describe("How many") @Min(1) Integer seats, @Describe("A key") @Secret String key) {}

  private static FlowBuilder<Order> order(String field, Consumer<QuestionOptions<Order>> options) {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask("ask", q -> q.question(field, "?", options))
        .edge(START, "ask")
        .edge("ask", END);
  }

  @Test
  void aDefaultThatDoesNotFitItsFieldDoesNotCompile() {
    assertThatThrownBy(() -> order("seats", o -> o.defaultsTo(0)).compile())
        .hasMessageContaining("The default of seats in ask")
        .hasMessageContaining("1");
    assertThatThrownBy(() -> order("seats", o -> o.defaultsTo("three")).compile())
        .hasMessageContaining("The default of seats in ask");
    assertThatThrownBy(() -> order("seats", o -> o.defaultsTo("")).compile())
        .hasMessageContaining("The default of seats in ask is empty");
  }

  @Test
  void norDoesOneThatItsValidatorRefusesOrChanges() {
    assertThatThrownBy(
            () ->
                order(
                        "seats",
                        o ->
                            o.defaultsTo(3)
                                .validate((Integer seats) -> Verdict.reject("Even only.")))
                    .compile())
        .hasMessageContaining("The default of seats in ask")
        .hasMessageContaining("Even only.");
    assertThatThrownBy(
            () ->
                order("seats", o -> o.defaultsTo(3).validate((Integer seats) -> Verdict.accept(4)))
                    .compile())
        .hasMessageContaining("The default of seats in ask")
        .hasMessageContaining("4");
    order("seats", o -> o.defaultsTo(3).validate((Integer seats) -> Verdict.accept())).compile();
  }

  @Test
  void aSecretHasNoDefault() {
    assertThatThrownBy(() -> order("key", o -> o.defaultsTo("abcd")).compile())
        .hasMessageContaining("The default of key in ask")
        .hasMessageContaining("secret");
    order("key", QuestionOptions::optional).compile();
  }

  // --- what is observed of it -----------------------------------------------------------------

  @Test
  void theNarrativeSaysWhatWasLeftOpenAndWhatItTook() {
    Driver open = drive(askB(), "ask");
    open.start();
    open.proceed("a", "1");
    assertThat(narrative(open)).contains("b was left open.");
    Driver taken = drive(askB(o -> o.defaultsTo("x")), "ask");
    taken.start();
    taken.proceed("a", "1");
    assertThat(narrative(taken)).contains("b was left open and took its default, \"x\".");
  }

  private static String narrative(Driver run) {
    Narrative narrative = new Narrative();
    RunObserver observer = RunObserver.of(run.program.flow(), "s", narrative);
    run.entries.forEach(entry -> observer.record(entry.seq(), entry.at(), entry.events()));
    return narrative.text();
  }

  @Test
  void theTraceKnowsADefaultFromAnAnswer() {
    Driver talk = drive(askB(o -> o.defaultsTo("x")), "ask");
    talk.start();
    talk.proceed("a", "1");
    assertThat(Trace.of(talk.program.flow(), talk.journal).why("b").toString())
        .contains("b = \"x\" because ask#1 was left open, and this is its default");
  }

  @Test
  void thePictureMarksWhatMayBeLeftOpen() {
    assertThat(chain(askB(), "ask").compile().picture().mermaid()).contains("asks a, b?");
    assertThat(chain(askB(o -> o.defaultsTo("x")), "ask").compile().picture().mermaid())
        .contains("asks a, b = ");
  }
}
