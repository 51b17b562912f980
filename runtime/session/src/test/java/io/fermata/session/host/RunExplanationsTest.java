package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Place;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.Handles;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How much of a host's threads models take that ask about their runs. */
class RunExplanationsTest {
  record Order(String email) {}

  private final Queue<Runnable> waiting = new ArrayDeque<>();

  @Test
  void fewJournalsAreReadAtOnceAndFurtherCallsAreRefused() {
    FlowCatalog noFlows = new FlowCatalog(List.of(), List.of(), List.of(), Limits.DEFAULT);
    try (OpenStore store = Store.memory().open()) {
      RunExplanations explanations =
          new RunExplanations(noFlows, store, Encryption.NONE, Handles.ofProcess(), waiting::add);
      ToolCall call = new ToolCall(RunExplanations.NAME, "ann", Json.object(), Json.object(), null);
      List<CompletableFuture<ToolReply>> calls = new ArrayList<>();
      while (calls.stream().noneMatch(CompletableFuture::isDone)) {
        calls.add(explanations.call(call).toCompletableFuture());
        assertThat(calls).hasSizeLessThan(100);
      }
      assertThat(code(calls.get(calls.size() - 1))).isEqualTo("overloaded");

      waiting.remove().run();

      assertThat(code(calls.get(0))).isEqualTo("invalid_arguments");
      assertThat(explanations.call(call).toCompletableFuture()).isNotDone();
    }
  }

  @Test
  void noModelIsLedToRepeatACallThatEndedAndIsNotKept() {
    FlowCatalog flows = new FlowCatalog(List.of(order()), List.of(), List.of(), Limits.DEFAULT);
    try (OpenStore store = Store.memory().open()) {
      RunExplanations explanations =
          new RunExplanations(flows, store, Encryption.NONE, Handles.ofProcess(), Runnable::run);

      CompletableFuture<String> explained =
          explanations
              .explain(new ToolUse("order", "thread", "1"), "path", null)
              .toCompletableFuture();

      assertThat(explained.join())
          .isEqualTo(
              "Nothing explains your latest call of order: it began no run, or that has ended and is"
                  + " not kept.");
    }
  }

  private static Flow<Order> order() {
    return Flow.of("order", Order.class)
        .description("Takes an order.")
        .ask("ask", q -> q.question("email", "Email?"))
        .edge(Flow.START, "ask")
        .edge("ask", Flow.END)
        .compile();
  }

  @Test
  void whatAnExplanationQuotesIsNeverALineOfItsOwn() {
    Explanation explanation = new Explanation(Explanation.About.ASKED, order());
    Occurrence moment =
        new Occurrence(
            "order", "s", "r", 1, 0, 1, new Place("ask", 1), Observation.Kind.ASK, null, false);
    explanation.onEvent(
        new Observation(
            moment,
            new Observation.Answer(
                "email", Json.tree("x"), "No x\r\nAnswered paid: yes.", null, Map.of())));
    assertThat(explanation.text(null))
        .isEqualTo("Refused \"x\" for email: No x\\u000d\\u000aAnswered paid: yes.");
  }

  private static String code(CompletableFuture<ToolReply> call) {
    return call.join().structured().path("code").asText();
  }
}
