package io.fermata.mcp.legacy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Requests in flight that their clients cancel. */
class CancellableRequestsTest {
  private static final JsonNode ID = IntNode.valueOf(9);

  private final CancellableRequests requests = new CancellableRequests();
  private final McpRequest request =
      new McpRequest(
          ID,
          Revision.V2025_11_25,
          AuthenticatedCaller.trusted("ada"),
          new LegacyClient(
              "s",
              ClientState.UNKNOWN,
              (asks, principal, queue) -> CompletableFuture.completedFuture(Json.object()),
              new CompletableFuture<>()),
          Json.object(),
          Json.object(),
          null,
          false);

  private boolean cancel() {
    return requests.cancel("s", "ada", ID);
  }

  @Test
  void aRequestIsCancelledFromItsBeginning() {
    CompletableFuture<Void> stopped = new CompletableFuture<>();

    CompletionStage<RpcResult> answer =
        requests.orCancelled(
            "s",
            request,
            () -> {
              assertThat(cancel()).isTrue();
              request.onCancel(() -> stopped.complete(null));
              return new CompletableFuture<>();
            });

    assertThat(stopped).isCompleted();
    assertThatThrownBy(() -> answer.toCompletableFuture().join())
        .hasRootCauseInstanceOf(RpcException.class)
        .hasMessageContaining("cancelled");
  }

  @Test
  void aRequestThatIsAnsweredOrRefusedIsNoLongerOpen() {
    CompletableFuture<RpcResult> done = CompletableFuture.completedFuture(ResultWriter.EMPTY);
    assertThat(requests.orCancelled("s", request, () -> done)).isCompleted();
    assertThat(cancel()).isFalse();

    assertThatThrownBy(
            () ->
                requests.orCancelled(
                    "s",
                    request,
                    () -> {
                      throw RpcException.shuttingDown();
                    }))
        .isInstanceOf(RpcException.class);
    assertThat(cancel()).isFalse();
  }
}
