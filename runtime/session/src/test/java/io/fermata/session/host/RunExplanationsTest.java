package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.Handles;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** How much of a host's threads models take that ask about their runs. */
class RunExplanationsTest {
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

  private static String code(CompletableFuture<ToolReply> call) {
    return call.join().structured().path("code").asText();
  }
}
