package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.Json;
import io.fermata.session.TestHandles;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of a client's replies where there is no room for its call. */
@Timeout(60)
class PlainCallsTest {
  private static final int MAX_CALLS = 10_000;

  private final Results results = new Results(new Identity("test", "1", null));

  private static Request request(JsonNode state) {
    ObjectNode params = Json.object();
    params.set("requestState", state);
    ObjectNode meta = Json.object();
    meta.putObject(ModernClient.CAPABILITIES).putObject("elicitation");
    return new Request(
        TextNode.valueOf("1"),
        Revision.V2026_07_28,
        Caller.trusted("ada"),
        new ModernClient(meta),
        params,
        meta,
        null);
  }

  @Test
  void theRepliesOfACallThatFoundNoRoomAreGoodForItsNextTry() {
    RequestStates states = new RequestStates(TestHandles.ofStore("here"), () -> 1_000_000, 10);
    String state =
        states.seal(
            Inputs.none().kept(), "ada", RequestStates.call("tools/call", "greet", Json.object()));
    CompletableFuture<Void> released = new CompletableFuture<>();
    try (Workers workers = new Workers(Workers.THREADS)) {
      PlainCalls calls =
          new PlainCalls(
              new LiveCatalog(
                  new FakeHost(),
                  Offers.NONE,
                  results,
                  new Subscriptions(new Streams(Streams.DEFAULT_MAX))),
              results,
              states,
              workers);
      for (int i = 0; i < MAX_CALLS; i++) {
        assertThat(workers.run(released::join)).isNotCancelled();
      }
      assertThatThrownBy(() -> greet(calls, state)).hasMessageContaining("busy");

      released.complete(null);

      assertThat(answered(calls, state)).isEqualTo(Results.EMPTY);
      assertThatThrownBy(() -> greet(calls, state)).hasMessageContaining("used before");
    }
  }

  /** Calls again until those who were there before have left. */
  private static Result answered(PlainCalls calls, String state) {
    while (true) {
      try {
        return greet(calls, state).toCompletableFuture().join();
      } catch (Refusal busy) {
        assertThat(busy.reason).contains("busy");
        Thread.onSpinWait();
      }
    }
  }

  private static CompletionStage<Result> greet(PlainCalls calls, String state) {
    return calls.run(
        request(TextNode.valueOf(state)),
        "tools/call",
        "greet",
        Json.object(),
        false,
        call -> CompletableFuture.completedFuture(Results.EMPTY));
  }
}
