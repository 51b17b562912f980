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
 * The way to a server, with what the SDK lacks: one learns that the server's process has ended, and
 * can tell the server that a call is not wanted any more.
 */
final class Line implements McpClientTransport {
  /** How long who sent a request that failed is given to hear of it. */
  private static final Duration FORGETTING = Duration.ofSeconds(1);

  private final McpClientTransport transport;
  private final CompletableFuture<Void> broken = new CompletableFuture<>();
  private final Map<Object, Object> requests = Collections.synchronizedMap(new IdentityHashMap<>());

  private final CompletableFuture<Void> forgotten = new CompletableFuture<>();

  Line(McpClientTransport transport) {
    this.transport = transport;
    transport.setExceptionHandler(this::failed);
  }

  /** Whoever's request failed is told by itself, as a rule; the SDK now and then forgets to. */
  private void failed(Throwable thrown) {
    if (thrown instanceof McpTransportSessionNotFoundException) {
      CompletableFuture.delayedExecutor(FORGETTING.toMillis(), TimeUnit.MILLISECONDS)
          .execute(() -> forgotten.completeExceptionally(thrown));
    }
  }

  /** Fails when the server has said for a while that it does not know the session any more. */
  CompletableFuture<Void> forgotten() {
    return forgotten;
  }

  /** Fails when it is known that no answer will come any more. */
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

  /** The call has been answered, or will never be. */
  void over(McpSchema.CallToolRequest call) {
    requests.remove(call);
  }

  /** Tells the server that nobody waits for the call any more. */
  void cancel(McpSchema.CallToolRequest call) {
    Object id = requests.remove(call);
    if (id != null) {
      transport
          .sendMessage(
              new McpSchema.JSONRPCNotification(
                  "notifications/cancelled",
                  Map.of("requestId", id, "reason", "The call is not wanted any more")))
          .onErrorComplete()
          .subscribe();
    }
  }

  /**
   * The SDK would open a new session by itself, and break off all calls before that. Whoever sent
   * the request that failed is told, and goes on as it sees fit.
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
