package io.fermata.flow;

import static io.fermata.flow.Driver.asked;
import static io.fermata.flow.Driver.code;
import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.action.Action;
import io.fermata.flow.action.StepException;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.schema.Computed;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Mistakes of authors are refused early, and the node is named. */
class AuthorMistakesTest {
  record Failure(String branch, String code, String message) {}

  record Stay(
      Integer from,
      Integer until,
      @Computed Map<String, Object> note,
      @Computed List<String> texts,
      @Computed String text,
      @Computed List<Failure> failures,
      @Computed List<Map<String, String>> maps) {}

  private static FlowBuilder<Stay> stay() {
    return Flow.of("stay", Stay.class).description("Books a stay.");
  }

  private static Flow<Stay> collecting(String field) {
    return stay()
        .ask("ask_from", q -> q.question("from", "From?"))
        .ask("ask_until", q -> q.question("until", "Until?"))
        .fork(START, f -> f.branch("ask_from").branch("ask_until").collect(field).join(END))
        .edge("ask_from", END)
        .edge("ask_until", END)
        .compile();
  }

  @Test
  void failuresAreCollectedOnlyIntoWhatCanHoldThem() {
    assertThatThrownBy(() -> collecting("texts"))
        .isInstanceOf(InvalidFlowException.class)
        .hasMessageContaining("lists failures in texts, which is a List<String>")
        .hasMessageContaining("branch, code and message");
    assertThatThrownBy(() -> collecting("text")).isInstanceOf(InvalidFlowException.class);
    assertThat(collecting("failures").id()).isEqualTo("stay");
    assertThat(collecting("maps").id()).isEqualTo("stay");
  }

  private static Event.Stopped failing(Action<Stay> action) {
    Driver talk =
        new Driver(stay().act("write", action).edge(START, "write").edge("write", END).compile());
    assertThat(code(talk.start())).isEqualTo("step_failed");
    return talk.events(Event.Stopped.class).get(0);
  }

  @Test
  void aFailureWithoutWordsNamesItsStep() {
    for (String words : new String[] {"", " "}) {
      Action<Stay> wordless =
          run -> {
            throw new StepException(words);
          };
      assertThat(failing(wordless).message()).isEqualTo("A step of the flow failed: write.");
    }
  }

  @Test
  void aStepThatWritesAFieldThatIsNotThereIsNamed() {
    assertThat(failing(run -> run.set("txet", "a")).detail())
        .contains("write#1 writes txet", "did you mean text?");
  }

  @Test
  void aStepThatWritesWhatIsNoJsonIsNamed() {
    Runnable lambda = () -> {};
    assertThat(failing(run -> run.set("note", lambda)).detail())
        .contains("write#1 writes note", "cannot be written as JSON");
    assertThat(failing(run -> run.set("note", Map.of("a", new Object()))).detail())
        .contains("write#1 writes note", "cannot be written as JSON");
    assertThat(failing(run -> run.emit("priced", lambda)).detail())
        .contains("write#1 emits priced", "cannot be written as JSON");
  }

  @Test
  void aStepThatAppendsToWhatIsNoListIsNamedWithTheField() {
    assertThat(failing(run -> run.append("text", "a")).detail())
        .contains("write#1 appends to text, which is no list but a text (String); use set(…)");
  }

  @Test
  void aStepThatWritesWhatAFieldCannotHoldIsNamedWithTheElement() {
    assertThat(failing(run -> run.append("texts", "a").append("texts", Map.of("a", 1))).detail())
        .contains("write#1 writes what the state cannot hold: texts.1 is not of type String");
    assertThat(failing(run -> run.set("text", 1)).detail())
        .contains("write#1 writes what the state cannot hold: text is not of type String");
  }

  @Test
  void aStepThatReadsAFieldAsAnotherTypeIsNamedWithTheField() {
    assertThat(failing(run -> run.set("text", "a").get("text", Integer.class)).detail())
        .contains(
            "write#1 cannot read text as Integer, as it is not of type Integer; it holds JSON of"
                + " type string");
  }

  @Test
  @SuppressWarnings("NullAway") // what an author without a null checker may do
  void aValidatorThatReturnsNullIsNamedWithItsField() {
    Stream.<Consumer<QuestionOptions<Stay>>>of(
            o -> o.validate((Integer from) -> null),
            o -> o.validateAsync((Integer from) -> CompletableFuture.completedStage(null)))
        .forEach(
            check -> {
              Driver talk =
                  new Driver(
                      stay()
                          .ask("ask", q -> q.question("from", "From?", check))
                          .edge(START, "ask")
                          .edge("ask", END)
                          .compile());
              assertThat(code(talk.start("from", 1))).isEqualTo("validator_failed");
              assertThat(talk.events(Event.Stopped.class).get(0).detail())
                  .contains(
                      "The validator of from at ask#1 returned null; return accept() or reject(…)");
            });
  }

  @Test
  @SuppressWarnings("NullAway") // what an author without a null checker may do
  void aSleepWithoutAnEndIsNamed() {
    for (FlowBuilder<Stay> sleeping :
        List.of(stay().sleepUntil("rest", s -> null), stay().sleep("rest", s -> null))) {
      Driver talk = new Driver(sleeping.edge(START, "rest").edge("rest", END).compile());
      assertThat(code(talk.start())).isEqualTo("step_failed");
      assertThat(talk.events(Event.Stopped.class).get(0).detail())
          .contains("The function of sleep node rest returned null; return when it ends");
    }
  }

  @Test
  void aValidatorComparesAnAnswerWithTheOthers() {
    Flow<Stay> flow =
        stay()
            .ask(
                "ask",
                q ->
                    q.question("from", "From?")
                        .question(
                            "until",
                            "Until?",
                            o ->
                                o.validate(
                                    (Stay stay, Integer until) ->
                                        stay.from() != null && stay.from() >= until
                                            ? Verdict.reject("That is before " + stay.from())
                                            : Verdict.accept().set("text", "to " + until))))
            .edge(START, "ask")
            .edge("ask", END)
            .result(stay -> stay)
            .compile();
    Driver talk = new Driver(flow);
    talk.start();
    Outcome refused = talk.proceed("from", 5, "until", 3);
    assertThat(code(refused)).isEqualTo("answer_rejected");
    assertThat(Driver.failure(refused).message()).isEqualTo("That is before 5");
    assertThat(asked(Driver.failure(refused).open())).containsExactly("until");
    assertThat(Driver.result(talk.proceed("until", 7)).path("text").asText()).isEqualTo("to 7");
    assertThat(talk.events(Event.Rejected.class)).hasSize(1);
  }
}
