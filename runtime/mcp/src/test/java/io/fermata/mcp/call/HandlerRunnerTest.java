package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.FakeHost;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.catalog.LiveCatalog;
import io.fermata.mcp.catalog.RegisteredFeatures;
import io.fermata.mcp.catalog.StreamQuota;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ModernClient;
import io.fermata.mcp.protocol.PeerServers;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.protocol.ServerIdentity;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.LocalBus;
import io.fermata.session.key.TestHandles;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client's replies if the server is overloaded. */
@Timeout(60)
class HandlerRunnerTest {
  private static final int MAX_CALLS = 10_000;

  private final ResultWriter results = new ResultWriter(new ServerIdentity("test", "1", null));

  private static McpRequest request(JsonNode state) {
    ObjectNode params = Json.object();
    params.set("requestState", state);
    ObjectNode meta = Json.object();
    meta.putObject(ModernClient.CAPABILITIES).putObject("elicitation");
    return new McpRequest(
        TextNode.valueOf("1"),
        Revision.V2026_07_28,
        AuthenticatedCaller.trusted("ada"),
        new ModernClient(meta),
        params,
        meta,
        null,
        false);
  }

  private static RequestStates states(HostBus hosts) {
    return new RequestStates(TestHandles.ofStore("here"), hosts, () -> 1_000_000, 10);
  }

  private static String state(RequestStates states) {
    return states.encrypt(
        RoundInputs.none().kept(Set.of()),
        "ada",
        RequestStates.call("tools/call", "greet", Json.object()));
  }

  private HandlerRunner runner(RequestStates states, HandlerExecutor workers) {
    return new HandlerRunner(
        new LiveCatalog(
            new FakeHost(),
            RegisteredFeatures.NONE,
            results,
            new Subscriptions(new StreamQuota(StreamQuota.DEFAULT_MAX)),
            new PeerServers(new LocalBus())),
        results,
        states,
        workers);
  }

  @Test
  void theRepliesOfACallThatFoundNoRoomAreGoodForItsNextTry() {
    RequestStates states = states(new LocalBus());
    String state = state(states);
    CompletableFuture<Void> released = new CompletableFuture<>();
    try (HandlerExecutor workers =
        new HandlerExecutor(HandlerExecutor.THREADS, Integer.MAX_VALUE)) {
      HandlerRunner calls = runner(states, workers);
      for (int i = 0; i < MAX_CALLS; i++) {
        assertThat(workers.run("ann", released::join, ended -> {})).isNotCancelled();
      }
      assertThatThrownBy(() -> joined(calls, state)).hasMessageContaining("busy");

      released.complete(null);

      assertThat(answered(calls, state)).isEqualTo(ResultWriter.EMPTY);
      assertThatThrownBy(() -> joined(calls, state)).hasMessageContaining("used before");
    }
  }

  @Test
  void theRepliesOfACallBeyondTheLimitOfItsPrincipalAreGoodForItsNextTry() {
    RequestStates states = states(new LocalBus());
    String state = state(states);
    CompletableFuture<Void> released = new CompletableFuture<>();
    try (HandlerExecutor workers = new HandlerExecutor(HandlerExecutor.THREADS, 1)) {
      HandlerRunner calls = runner(states, workers);
      assertThat(workers.run("ada", released::join, ended -> {})).isNotCancelled();
      assertThatThrownBy(() -> joined(calls, state)).hasMessageContaining("wait for one to end");

      released.complete(null);

      assertThat(answered(calls, state)).isEqualTo(ResultWriter.EMPTY);
    }
  }

  @Test
  void aHandlerNeverRunsOnAThreadOfTheStore() {
    try (StoreBus store = new StoreBus();
        HandlerExecutor workers = new HandlerExecutor(HandlerExecutor.THREADS, Integer.MAX_VALUE)) {
      RequestStates states = states(store.join());
      HandlerRunner calls = runner(states, workers);
      CompletableFuture<String> ran = new CompletableFuture<>();
      RpcResult answer =
          call(
                  calls,
                  state(states),
                  true,
                  call -> {
                    ran.complete(Thread.currentThread().getName());
                    return CompletableFuture.completedFuture(ResultWriter.EMPTY);
                  })
              .toCompletableFuture()
              .join();

      assertThat(answer).isEqualTo(ResultWriter.EMPTY);
      assertThat(ran.join()).isNotEqualTo(StoreBus.THREAD);
    }
  }

  @Test
  void whoIsToldToTryAgainMayDoSoAtAnotherHostAtOnce() {
    try (StoreBus store = new StoreBus();
        HandlerExecutor workers = new HandlerExecutor(HandlerExecutor.THREADS, Integer.MAX_VALUE)) {
      RequestStates states = states(store.join());
      RequestStates elsewhere = states(store.join());
      String state = state(states);
      store.givingUp = new CompletableFuture<>();
      CompletableFuture<RpcResult> busy =
          call(
                  runner(states, workers),
                  state,
                  false,
                  call -> CompletableFuture.failedFuture(RpcException.overloaded()))
              .toCompletableFuture();
      while (!store.givenUp) {
        Thread.onSpinWait();
      }
      assertThat(busy).isNotDone();

      store.givingUp.complete(null);

      assertThatThrownBy(busy::join).hasMessageContaining("busy");
      assertThat(joined(runner(elsewhere, workers), state)).isEqualTo(ResultWriter.EMPTY);
    }
  }

  /** Calls again until those who were there before have left. */
  private static RpcResult answered(HandlerRunner calls, String state) {
    while (true) {
      try {
        return joined(calls, state);
      } catch (CompletionException busy) {
        assertThat(busy.getCause())
            .isInstanceOfSatisfying(
                RpcException.class, refusal -> assertThat(refusal.isTransient()).isTrue());
        Thread.onSpinWait();
      }
    }
  }

  private static RpcResult joined(HandlerRunner calls, String state) {
    return greet(calls, state).toCompletableFuture().join();
  }

  private static CompletionStage<RpcResult> greet(HandlerRunner calls, String state) {
    return call(calls, state, false, call -> CompletableFuture.completedFuture(ResultWriter.EMPTY));
  }

  private static CompletionStage<RpcResult> call(
      HandlerRunner calls, String state, boolean atOnce, HandlerRunner.Work work) {
    return calls.run(
        request(TextNode.valueOf(state)), "tools/call", "greet", Json.object(), atOnce, work);
  }
}
