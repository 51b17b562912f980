package io.fermata.flow.engine;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Driver;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.flow.schema.Computed;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** The answers that a fork is given, in a loop that asks for the same again. */
class ForkAnswersTest {
  record Order(String item, Integer more, @Computed Integer sent) {}

  private final List<String> sent = new ArrayList<>();

  /** Asks for an item, sends it, and asks whether there are more. */
  private Flow<Order> order() {
    return Flow.of("order", Order.class)
        .description("Sends items.")
        .ask("ask_item", q -> q.question("item", "Which item?"))
        .act("send", run -> sent.add(run.get("item", String.class)))
        .ask("ask_more", q -> q.question("more", "How many more?"))
        .edge(START, "ask_item")
        .edge("ask_item", "send")
        .edge("send", "ask_more")
        .decide("ask_more", d -> d.when("more", gt("more", 0)).to("ask_item").otherwise(END))
        .compile();
  }

  /** A run in its second pass, which asks for an item in entry 5 and for more in entry 7. */
  private Driver secondPass(Flow<Order> flow) {
    Driver run = new Driver(flow);
    run.start();
    run.proceed("item", "pen");
    run.proceed("more", 1);
    run.proceed("item", "pen");
    run.proceed("more", 0);
    sent.clear();
    return run;
  }

  private static Driver fork(Flow<Order> flow, Driver source, String open, ForkOptions options) {
    long entry = 0;
    for (Driver.Entry each : source.entries) {
      for (Event event : each.events()) {
        boolean asks =
            event instanceof Event.Asked asked && asked.questions().get(0).field().equals(open);
        entry = asks ? each.seq() : entry;
      }
    }
    Driver fork = Objects.requireNonNull(ForkedRunTest.forked(flow, source, entry, options));
    fork.settle();
    ForkedRunTest.decidedAgain(flow, fork);
    return fork;
  }

  private static List<String> asked(Driver run) {
    return Driver.asked(run.program.open(run.state));
  }

  @Test
  void theOpenQuestionOfALaterPassTakesTheAnswerThatAnEarlierPassHad() {
    Flow<Order> flow = order();

    Driver fork = fork(flow, secondPass(flow), "more", ForkOptions.live().answer("more", 1));

    assertThat(asked(fork)).containsExactly("item");
    assertThat(fork.state.branch("").visits("ask_item")).isEqualTo(3);
    assertThat(sent).isEmpty();
  }

  @Test
  void anotherAnswerToTheOpenQuestionIsGivenInThisPassAndCorrectsNone() {
    Flow<Order> flow = order();

    Driver fork = fork(flow, secondPass(flow), "more", ForkOptions.live().answer("more", 2));

    assertThat(asked(fork)).containsExactly("item");
    assertThat(fork.events(Event.Reset.class)).isEmpty();
  }

  @Test
  void aRepeatedAnswerStandsWhereACorrectionLeadsBackBeforeItsQuestion() {
    Flow<Order> flow = order();

    Driver fork =
        fork(
            flow,
            secondPass(flow),
            "more",
            ForkOptions.live().answer("item", "ink").answer("more", 1));

    assertThat(sent).containsExactly("ink");
    assertThat(asked(fork)).containsExactly("item");
  }

  @Test
  void anAnswerThatTheRunHasAlreadyChangesNothingWhileItIsNotAskedFor() {
    Flow<Order> flow = order();

    Driver fork = fork(flow, secondPass(flow), "more", ForkOptions.live().answer("item", "pen"));

    assertThat(asked(fork)).containsExactly("more");
    assertThat(sent).isEmpty();
    assertThat(fork.state.answers()).containsEntry("item", Json.tree("pen"));
  }
}
