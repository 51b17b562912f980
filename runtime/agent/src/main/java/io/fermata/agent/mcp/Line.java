package io.fermata.agent.mcp;

import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import io.modelcontextprotocol.spec.McpTransportSessionNotFoundException;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The connection to a server. In addition to the SDK, it reports the end of the server's process
 * and can cancel a call.
 */
final class Line implements McpClientTransport {
  /** How long the SDK may take to fail a request that was rejected. */
  private static final Duration FORGETTING = Duration.ofSeconds(3);

  private final McpClientTransport transport;
  private final CompletableFuture<Void> broken = new CompletableFuture<>();
  private final Map<Object, Object> requests = Collections.synchronizedMap(new IdentityHashMap<>());

  Line(McpClientTransport transport) {
    this.transport = transport;
    transport.setExceptionHandler(this::failed);
  }

  /**
   * The SDK fails the request that was rejected, which the server has not started, and drops all
   * others, which it may have.
   */
  private void failed(Throwable thrown) {
    if (thrown instanceof McpTransportSessionNotFoundException) {
      CompletableFuture.delayedExecutor(FORGETTING.toMillis(), TimeUnit.MILLISECONDS)
          .execute(() -> broken.completeExceptionally(new IOException("its session was closed")));
    }
  }

  /** Fails when no reply can arrive any more. */
  CompletableFuture<Void> broken() {
    return broken;
  }

  @Override
  public Mono<Void> connect(
      Function<Mono<McpSchema.JSONRPCMessage>, Mono<McpSchema.JSONRPCMessage>> handler) {
    return transport
        .connect(handler)
        .doOnError(broken::completeExceptionally)
        .doOnSuccess(
            nothing -> {
              if (transport instanceof StdioClientTransport process) {
                Schedulers.boundedElastic().schedule(() -> watch(process));
              }
            });
  }

  private void watch(StdioClientTransport process) {
    process.awaitForExit();
    broken.completeExceptionally(new IOException("its process has ended"));
  }

  @Override
  public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message) {
    if (message instanceof McpSchema.JSONRPCRequest request
        && request.params() instanceof McpSchema.CallToolRequest call) {
      requests.put(call, request.id());
    }
    return transport.sendMessage(message);
  }

  /** The call has ended. */
  void over(McpSchema.CallToolRequest call) {
    requests.remove(call);
  }

  /** Sends the server a cancellation of the call. */
  void cancel(McpSchema.CallToolRequest call) {
    Object id = requests.remove(call);
    if (id != null) {
      transport
          .sendMessage(
              new McpSchema.JSONRPCNotification(
                  "notifications/cancelled",
                  Map.of("requestId", id, "reason", "The call was cancelled")))
          .onErrorComplete()
          .subscribe();
    }
  }

  /**
   * Ignored: the SDK would open a new session by itself and abort all calls. Here the failed
   * request reports the error, and its caller decides.
   */
  @Override
  public void setExceptionHandler(Consumer<Throwable> handler) {}

  @Override
  public List<String> protocolVersions() {
    return transport.protocolVersions();
  }

  @Override
  public Mono<Void> closeGracefully() {
    return transport.closeGracefully();
  }

  @Override
  public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
    return transport.unmarshalFrom(data, type);
  }
}
