package io.fermata.agent.mcp;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpSchema;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import reactor.core.publisher.Mono;

/** A session with a server. A retired one is closed after its last call. */
final class Connection {
  /** The caller of a tool sets the timeout; the SDK's own is longer. */
  private static final Duration UNLIMITED = Duration.ofDays(30);

  private static final Duration GOODBYE = Duration.ofSeconds(5);
  private static final int PAGES = 1_000;

  private final Line line;
  private final McpAsyncClient client;
  private final CompletableFuture<?> ready;

  /** The replies that are waited for, by their requests; what has ended leaves nothing here. */
  private final Map<Mono<?>, CompletableFuture<?>> replies = new ConcurrentHashMap<>();

  private int calls;
  private boolean abandoned;

  @SuppressWarnings("FutureReturnValueIgnored") // the replies get the failure
  Connection(Line line, Duration timeout) {
    this.line = line;
    client =
        McpClient.async(line)
            .requestTimeout(UNLIMITED)
            .initializationTimeout(timeout)
            .clientInfo(McpSchema.Implementation.builder("fermata", "1").build())
            .capabilities(McpSchema.ClientCapabilities.builder().build())
            .build();
    ready = CompletableFuture.anyOf(client.initialize().toFuture(), line.broken());
    line.broken()
        .whenComplete(
            (nothing, why) -> replies.values().forEach(reply -> reply.completeExceptionally(why)));
  }

  boolean usable() {
    return !ready.isCompletedExceptionally() && !line.broken().isDone();
  }

  /** Waits until the server has answered the first request. */
  void open() throws InterruptedException, ExecutionException {
    ready.get();
  }

  List<McpSchema.Tool> tools(Duration timeout) throws InterruptedException, ExecutionException {
    Mono<McpSchema.ListToolsResult> late =
        Mono.error(() -> new TimeoutException("no reply within " + timeout));
    List<McpSchema.Tool> tools = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    String cursor = McpSchema.FIRST_PAGE;
    do {
      McpSchema.ListToolsResult page = reply(client.listTools(cursor).timeout(timeout, late));
      tools.addAll(page.tools());
      cursor = page.nextCursor();
    } while (cursor != null && seen.size() < PAGES && seen.add(cursor));
    return tools;
  }

  McpSchema.CallToolResult call(McpSchema.CallToolRequest call)
      throws InterruptedException, ExecutionException {
    try {
      return reply(client.callTool(call));
    } catch (InterruptedException e) {
      line.cancel(call);
      throw e;
    } finally {
      line.over(call);
    }
  }

  /** The reply of the server, unless the connection breaks. An interrupt cancels the request. */
  private <T> T reply(Mono<T> request) throws InterruptedException, ExecutionException {
    CompletableFuture<T> sent = request.toFuture();
    CompletableFuture<T> reply = sent.copy();
    replies.put(request, reply);
    try {
      if (line.broken().isDone()) {
        line.broken().get();
      }
      return reply.get();
    } finally {
      replies.remove(request);
      sent.cancel(true);
    }
  }

  synchronized void begin() {
    calls++;
  }

  void end() {
    boolean last;
    synchronized (this) {
      calls--;
      last = abandoned && calls == 0;
    }
    if (last) {
      close();
    }
  }

  /** Accepts no new calls. */
  void giveUp() {
    boolean idle;
    synchronized (this) {
      idle = !abandoned && calls == 0;
      abandoned = true;
    }
    if (idle) {
      close();
    }
  }

  private void close() {
    client.closeGracefully().timeout(GOODBYE).onErrorComplete().subscribe();
  }

  /** Closes it at once; calls in progress fail. */
  void closeNow() {
    line.broken().completeExceptionally(new IllegalStateException("the tools were closed"));
    client.closeGracefully().timeout(GOODBYE).onErrorComplete().block();
  }
}
