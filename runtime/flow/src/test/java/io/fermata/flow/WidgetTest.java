package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.failure;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.drive;
import static io.fermata.flow.Flows.talk;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.event.Verdict;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How a run pauses for a widget, and what lets it go on. */
class WidgetTest {
  @Test
  void aWidgetNamesItsToolAndCarriesItsData() {
    Driver talk =
        drive(
            talk().widget("show", w -> w.tool("picker").data(s -> Map.of("was", "x")).field("a")),
            "show");
    Outcome.ShowWidget shown = (Outcome.ShowWidget) talk.start();
    assertThat(shown.widget())
        .isEqualTo(
            new Event.Widget(
                "picker",
                Driver.object("was", "x"),
                true,
                "a",
                talk.program.flow().fieldSchema("a")));
  }

  @Test
  void aWidgetWithAFieldWaitsForIt() {
    Driver talk = drive(talk().widget("show", w -> w.field("a")), "show");
    Outcome shown = talk.start();
    assertThat(talk.proceed()).isEqualTo(shown);
    assertThat(asked(talk.proceed("b", "other"))).containsExactly("a");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aChoiceIsValidatedAndRefusedWithTheWidget() {
    Driver talk =
        drive(
            talk()
                .widget(
                    "show",
                    w ->
                        w.field("a")
                            .validate(
                                (Flows.Talk s, String a) ->
                                    s.list().contains(a)
                                        ? Verdict.accept(a + "!")
                                        : Verdict.reject("Choose one of " + s.list() + "."))),
            "show");
    talk.start("list", List.of("x", "y"));
    Outcome.Failure refused = failure(talk.proceed("a", "z"));
    assertThat(refused.code()).isEqualTo("answer_rejected");
    assertThat(refused.field()).isEqualTo("a");
    assertThat(refused.message()).isEqualTo("Choose one of [x, y].");
    assertThat(asked(refused)).containsExactly("a");
    assertThat(result(talk.proceed("a", "x")).path("a").asText()).isEqualTo("x!");

    Driver early =
        drive(talk().widget("show", w -> w.field("a").validate(WidgetTest::known)), "show");
    Outcome.Failure prefilled = failure(early.start("a", "z"));
    assertThat(prefilled.open()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(early.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  private static Verdict known(String a) {
    return a.equals("x") ? Verdict.accept() : Verdict.reject("Unknown.");
  }

  @Test
  void aChoiceThatCannotBeCheckedComesWithTheWidget() {
    Driver talk =
        drive(
            talk()
                .widget(
                    "show",
                    w ->
                        w.field("a")
                            .validate(
                                (String a) -> {
                                  if (a.equals("z")) {
                                    throw new IllegalStateException("broken");
                                  }
                                  return Verdict.accept();
                                })),
            "show");
    talk.start();
    Outcome.Failure broken = failure(talk.proceed("a", "z"));
    assertThat(broken.code()).isEqualTo("validator_failed");
    assertThat(broken.field()).isEqualTo("a");
    assertThat(asked(broken)).containsExactly("a");
    assertThat(talk.proceed("a", "x")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetWithoutAFieldHasNothingToValidate() {
    assertThatThrownBy(
            () -> drive(talk().widget("show", w -> w.validate(WidgetTest::known)), "show"))
        .hasMessageContaining("Node show validates a choice, but has no field for it");
  }

  @Test
  void aWidgetWhoseFieldIsKnownIsSkipped() {
    Driver talk = drive(talk().widget("show", w -> w.field("a")), "show");
    assertThat(talk.start("a", "x")).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.events(Event.Shown.class)).isEmpty();
  }

  @Test
  void aWidgetWithoutAFieldIsPassedByAContinueWithoutUpdatesAlone() {
    Driver talk = drive(ask(talk().widget("show", w -> {}), "a"), "show", "ask_a");
    assertThat(talk.start()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(asked(talk.proceed())).containsExactly("a");
  }

  /** A run whose call put a question and works, and then puts a widget without a field. */
  private static Driver working() {
    Driver talk =
        drive(
            ask(talk(), "a").act("act", run -> {}).widget("show", w -> {}), "ask_a", "act", "show");
    talk.start();
    talk.feed(new Input.Continue(Driver.object("a", "x"), talk.now++));
    return talk;
  }

  @Test
  void aWidgetThatIsPutAfterItsCallWasAnsweredIsShownBeforeItIsPassed() {
    Driver talk = working();
    talk.feed(new Input.Unattended(talk.now++));
    talk.feed(new Input.Unattended(talk.now++));
    assertThat(talk.events(Event.Unattended.class)).hasSize(1);
    assertThat(talk.settle()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).as("nobody got it").isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetThatIsPutAfterItsCallWasLostIsShownBeforeItIsPassed() {
    Driver talk = working();
    talk.recover();
    assertThat(talk.settle()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).as("nobody got it").isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetThatWasPutStaysSeenWhenTheHostStartsAgain() {
    Driver talk = working();
    assertThat(talk.settle()).isInstanceOf(Outcome.ShowWidget.class);
    talk.feed(new Input.Unattended(talk.now++));
    talk.recover();
    assertThat(talk.events(Event.Unattended.class)).isEmpty();
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  /** The answer of a call that ends early has what is open; that of a lost one had nothing. */
  @Test
  void aWidgetBesideWorkIsSeenUnlessItsCallWasLost() {
    for (boolean lost : List.of(false, true)) {
      Driver talk =
          new Driver(
              talk()
                  .widget("show", w -> {})
                  .act("begin", run -> {})
                  .act("act", run -> {})
                  .act("done", run -> {})
                  .edge(Flow.START, "begin")
                  .fork("begin", f -> f.branch("show").branch("act").join("done"))
                  .edge("show", "done")
                  .edge("act", "done")
                  .edge("done", Flow.END)
                  .compile());
      talk.feed(new Input.Start("run-1", "to test", Driver.object(), talk.now++));
      StepEffect begin = talk.pendingEffect();
      talk.feed(new Input.EffectEnded(begin, talk.result(begin), talk.now++));
      assertThat(talk.pendingEffect().place().node()).isEqualTo("act");
      if (lost) {
        talk.recover();
      } else {
        talk.feed(new Input.Unattended(talk.now++));
      }
      assertThat(talk.settle()).isInstanceOf(Outcome.ShowWidget.class);
      Class<?> next = lost ? Outcome.ShowWidget.class : Outcome.Complete.class;
      assertThat(talk.proceed()).isInstanceOf(next);
    }
  }

  @Test
  void valuesOfAContinueAreStoredAndTheWidgetIsShownAgain() {
    Driver talk = drive(ask(talk().widget("show", w -> {}), "a"), "show", "ask_a");
    Outcome shown = talk.start();
    assertThat(talk.proceed("a", "x")).isEqualTo(shown);
    assertThat(talk.proceed("a", "x")).as("delivered twice").isEqualTo(shown);
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.data().path("a").asText()).isEqualTo("x");
  }

  @Test
  void aResetNeverPassesAWidget() {
    Driver talk =
        drive(ask(ask(talk(), "a").widget("confirm", w -> {}), "b"), "ask_a", "confirm", "ask_b");
    talk.start("a", "x");
    assertThat(talk.reset("b", "y")).as("asked for later").isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.reset("a", "z")).as("asked for before").isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
    assertThat(talk.state.data().path("a").asText()).isEqualTo("z");
    assertThat(talk.state.data().path("b").asText()).isEqualTo("y");
  }

  @Test
  void oneContinueAcknowledgesOneWidget() {
    Driver talk = drive(talk().widget("one", w -> {}).widget("two", w -> {}), "one", "two");
    talk.start();
    assertThat(((Outcome.ShowWidget) talk.proceed()).widget().tool()).isEqualTo("two");
    assertThat(talk.proceed()).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aRefusedCallDoesNotAcknowledgeAWidget() {
    Driver talk = drive(talk().widget("show", w -> {}), "show");
    talk.start();
    Outcome refused = talk.proceed("nonsense", 1);
    assertThat(Driver.failure(refused).open()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.state.running()).isTrue();
  }

  @Test
  void aDisplayOnlyWidgetSaysThatItTakesNoAnswer() {
    Driver talk = drive(talk().widget("show", w -> w.displayOnly().field("a")), "show");
    Outcome.ShowWidget shown = (Outcome.ShowWidget) talk.start();
    assertThat(shown.widget().interactive()).isFalse();
    assertThat(talk.proceed("a", "in words")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetWhoseDataThrowIsShownAgainOnContinue() {
    boolean[] broken = {true};
    Driver talk =
        drive(
            talk()
                .widget(
                    "show",
                    w -> w.data(s -> Map.of("x", AskingTest.orThrow(broken, "y"))).field("a")),
            "show");
    assertThat(code(talk.start())).isEqualTo("question_failed");
    broken[0] = false;
    assertThat(talk.proceed()).isInstanceOf(Outcome.ShowWidget.class);
  }

  @Test
  void anAnswerOfTheWrongTypeLeavesTheWidgetOpen() {
    Driver talk = drive(talk().widget("show", w -> w.field("number")), "show");
    talk.start();
    Outcome refused = talk.proceed("number", "many");
    assertThat(code(refused)).isEqualTo("invalid_updates");
    assertThat(asked(refused)).containsExactly("number");
  }

  @Test
  void aFlowKnowsItsDisplayTools() {
    Flow<?> flow =
        Flows.chain(talk().widget("one", w -> w.tool("z")).widget("two", w -> {}), "one", "two")
            .compile();
    assertThat(flow.displayTools()).containsExactly("two", "z");
  }
}
