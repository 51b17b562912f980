package io.fermata.flow.event;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Driver.result;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.Flows.ask;
import static io.fermata.flow.Flows.talk;
import static io.fermata.flow.route.Condition.eq;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A pause in a loop is a new pause on every pass. */
class LoopTest {
  /** Asks for an item until the item is "stop". */
  private static Driver toItself(String field) {
    String node = "ask_" + field.replace('.', '_');
    return new Driver(
        ask(talk(), field)
            .edge(START, node)
            .decide(node, d -> d.when(eq(field, "stop")).to(END).otherwise(node))
            .compile());
  }

  /** Collects items: asks for a, adds it to the log, asks whether there are more. */
  private static Driver collecting() {
    return new Driver(
        ask(ask(ask(talk(), "c"), "a"), "flag")
            .act("add", run -> run.append("log", run.state().c() + run.state().a()))
            .edge(START, "ask_c")
            .edge("ask_c", "ask_a")
            .edge("ask_a", "add")
            .edge("add", "ask_flag")
            .decide("ask_flag", d -> d.when("more", eq("flag", true)).to("ask_a").otherwise(END))
            .compile());
  }

  private static Object log(Driver talk) {
    return Json.MAPPER.convertValue(talk.state.data().path("log"), List.class);
  }

  @Test
  void aNodeThatLeadsToItselfAsksOnEveryPass() {
    for (String field : List.of("a", "address.city")) {
      Driver talk = toItself(field);
      assertThat(asked(talk.start())).containsExactly(field);
      assertThat(asked(talk.proceed(field, "one"))).containsExactly(field);
      assertThat(asked(talk.proceed())).containsExactly(field);
      assertThat(asked(talk.proceed(field, "one"))).containsExactly(field);
      assertThat(talk.proceed(field, "stop")).isInstanceOf(Outcome.Complete.class);
      assertThat(talk.events(Event.Asked.class))
          .extracting(e -> e.place().visit())
          .containsExactly(1, 2, 3);
    }
  }

  @Test
  void aPrefilledAnswerIsForTheFirstPassOnly() {
    for (String field : List.of("a", "address.city")) {
      Driver talk = toItself(field);
      assertThat(asked(talk.start(field, "one"))).containsExactly(field);
      assertThat(talk.events(Event.Asked.class))
          .extracting(Event.Asked::place)
          .containsExactly(new Place("ask_" + field.replace('.', '_'), 2));
    }
  }

  @Test
  void twoNodesInALoopAreBothAskedAgain() {
    Driver talk = collecting();
    talk.start("c", "-");
    assertThat(asked(talk.proceed("a", "pizza"))).containsExactly("flag");
    assertThat(asked(talk.proceed("flag", true))).containsExactly("a");
    assertThat(asked(talk.proceed("a", "coke"))).containsExactly("flag");
    Outcome end = talk.proceed("flag", false);
    assertThat(result(end).path("log")).isEqualTo(Json.tree(List.of("-pizza", "-coke")));
  }

  @Test
  void anAnswerForTheNextPassMayComeEarly() {
    Driver talk = collecting();
    talk.start("c", "-", "a", "pizza");
    assertThat(asked(talk.proceed("flag", true, "a", "coke"))).containsExactly("flag");
    assertThat(log(talk)).isEqualTo(List.of("-pizza", "-coke"));
  }

  @Test
  void aSecondDeliveryOfAnAnswerIsNotTheAnswerOfTheNextPass() {
    Driver talk = collecting();
    talk.start("c", "-");
    talk.proceed("a", "pizza");
    assertThat(asked(talk.proceed("a", "pizza"))).containsExactly("flag");
    assertThat(asked(talk.proceed("flag", true))).containsExactly("a");
    assertThat(log(talk)).isEqualTo(List.of("-pizza"));
  }

  @Test
  void aRejectionInOnePassIsForgottenInTheNext() {
    Driver talk =
        new Driver(
            talk()
                .ask(
                    "ask",
                    q ->
                        q.question(
                            "a",
                            "a?",
                            o ->
                                o.validate(
                                    (String a) ->
                                        a.equals("bad")
                                            ? Verdict.reject("Bad.")
                                            : Verdict.accept())))
                .edge(START, "ask")
                .decide("ask", d -> d.when(eq("a", "stop")).to(END).otherwise("ask"))
                .compile());
    talk.start();
    assertThat(code(talk.proceed("a", "bad"))).isEqualTo("answer_rejected");
    assertThat(talk.proceed("a", "one")).isInstanceOf(Outcome.Interrupt.class);
    assertThat(code(talk.proceed("a", "bad"))).isEqualTo("answer_rejected");
    assertThat(talk.proceed("a", "stop")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void aWidgetInALoopIsShownOnEveryPass() {
    Driver talk =
        new Driver(
            talk()
                .widget("pick", w -> w.field("a"))
                .edge(START, "pick")
                .decide("pick", d -> d.when(eq("a", "stop")).to(END).otherwise("pick"))
                .compile());
    talk.start();
    assertThat(talk.proceed("a", "one")).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed()).isInstanceOf(Outcome.ShowWidget.class);
    assertThat(talk.proceed("a", "stop")).isInstanceOf(Outcome.Complete.class);
  }

  @Test
  void whatIsMergedBesideAnAnswerDoesNotMakeItOneOfTheNextPass() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "address.city"), "flag")
                .act("note", run -> run.merge("address", Map.of("street", "Via")))
                .edge(START, "ask_address_city")
                .edge("ask_address_city", "note")
                .edge("note", "ask_flag")
                .decide(
                    "ask_flag", d -> d.when(eq("flag", true)).to("ask_address_city").otherwise(END))
                .compile());
    talk.start("address.city", "Rome");
    assertThat(asked(talk.proceed("flag", true))).containsExactly("address.city");
    assertThat(talk.state.data().path("address"))
        .isEqualTo(Json.tree(Map.of("street", "Via", "city", "Rome")));
  }

  // --- corrections in a loop ------------------------------------------------------------------

  @Test
  void aCorrectionGoesBackToTheLatestPass() {
    Driver talk = collecting();
    talk.start("c", "-", "a", "pizza");
    talk.proceed("flag", true, "a", "cok");
    assertThat(asked(talk.reset("a", "coke"))).containsExactly("flag");
    assertThat(log(talk)).isEqualTo(List.of("-pizza", "-coke"));
  }

  @Test
  void aCorrectionBeforeTheLoopAsksAgainWhatHadSeveralAnswers() {
    Driver talk = collecting();
    talk.start("c", "-");
    talk.proceed("a", "pizza");
    talk.proceed("flag", true);
    talk.proceed("a", "coke");
    assertThat(asked(talk.reset("c", "+"))).containsExactly("a");
    assertThat(asked(talk.proceed("a", "pizza"))).containsExactly("a");
    assertThat(asked(talk.proceed("a", "coke"))).containsExactly("flag");
    assertThat(log(talk)).isEqualTo(List.of("+pizza", "+coke"));
  }

  @Test
  void anAnswerWhoseCheckWasSkippedIsOneOfItsPassAsWell() {
    Driver talk =
        new Driver(
            ask(ask(talk(), "c"), "flag")
                .ask(
                    "ask_a",
                    q ->
                        q.question(
                            "a",
                            "a?",
                            o ->
                                o.validateAsync(
                                    (String a) ->
                                        CompletableFuture.completedStage(Verdict.accept()),
                                    e -> e.once())))
                .edge(START, "ask_c")
                .edge("ask_c", "ask_a")
                .edge("ask_a", "ask_flag")
                .decide("ask_flag", d -> d.when(eq("flag", true)).to("ask_a").otherwise(END))
                .compile());
    talk.start("c", "-");
    talk.feed(new Input.Continue(Driver.object("a", "pizza"), talk.now++));
    talk.recover();
    assertThat(asked(talk.resolve(Input.Resolution.SKIP))).containsExactly("flag");
    talk.proceed("flag", true);
    talk.proceed("a", "coke");
    assertThat(asked(talk.reset("c", "+"))).containsExactly("a");
    assertThat(talk.state.data().has("a")).isFalse();
  }

  @Test
  void aCorrectionBeforeTheLoopTakesAPrefilledAnswerForTheFirstPass() {
    Driver talk = collecting();
    talk.start("c", "-", "a", "pizza");
    talk.proceed("flag", true);
    talk.proceed("a", "coke");
    assertThat(asked(talk.reset("c", "+"))).containsExactly("a");
    assertThat(log(talk)).isEqualTo(List.of("+pizza"));
  }

  @Test
  void aCorrectionBeforeTheLoopKeepsWhatHadOneAnswer() {
    Driver talk = collecting();
    talk.start("c", "-", "a", "pizza");
    assertThat(asked(talk.reset("c", "+"))).containsExactly("flag");
    assertThat(log(talk)).isEqualTo(List.of("+pizza"));
  }

  @Test
  void afterACorrectionWithinTheLoopAnEarlierPassCanStillBeCorrected() {
    Driver talk = collecting();
    talk.start("c", "-", "a", "pizza");
    talk.proceed("flag", true);
    assertThat(asked(talk.reset("flag", Json.MAPPER.nullNode()))).containsExactly("flag");
    assertThat(asked(talk.reset("a", "soup"))).containsExactly("flag");
    assertThat(log(talk)).isEqualTo(List.of("-soup"));
  }
}
