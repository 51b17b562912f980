package io.fermata.agent.mcp;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
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
  private int calls;
  private boolean abandoned;

  Connection(Server server, Duration timeout) {
    line = new Line(server.transport(timeout));
    client =
        McpClient.async(line)
            .requestTimeout(UNLIMITED)
            .initializationTimeout(timeout)
            .clientInfo(McpSchema.Implementation.builder("fermata", "1").build())
            .capabilities(McpSchema.ClientCapabilities.builder().build())
            .build();
    ready = CompletableFuture.anyOf(client.initialize().toFuture(), line.broken());
  }

  boolean usable() {
    return !ready.isCompletedExceptionally()
        && !line.broken().isDone()
        && !line.forgotten().isDone();
  }

  /** Waits until the server has answered the first request. */
  void open() throws InterruptedException, ExecutionException {
    ready.get();
  }

  List<McpSchema.Tool> tools(Duration timeout)
      throws InterruptedException, ExecutionException, TimeoutException {
    List<McpSchema.Tool> tools = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    String cursor = McpSchema.FIRST_PAGE;
    do {
      McpSchema.ListToolsResult page = first(client.listTools(cursor)).get(timeout);
      tools.addAll(page.tools());
      cursor = page.nextCursor();
    } while (cursor != null && seen.size() < PAGES && seen.add(cursor));
    return tools;
  }

  McpSchema.CallToolResult call(McpSchema.CallToolRequest call)
      throws InterruptedException, ExecutionException {
    Answer<McpSchema.CallToolResult> answer = first(client.callTool(call));
    try {
      return answer.get();
    } catch (InterruptedException e) {
      line.cancel(call);
      throw e;
    } finally {
      line.over(call);
    }
  }

  private <T> Answer<T> first(Mono<T> request) {
    return new Answer<>(
        request.toFuture(),
        CompletableFuture.anyOf(
            line.broken(), line.forgotten().exceptionallyCompose(this::rejected)));
  }

  /**
   * If the server does not know the session, it has not started the only call of it; of several,
   * some may have been started.
   */
  private CompletableFuture<Void> rejected(Throwable forgotten) {
    boolean alone;
    synchronized (this) {
      alone = calls <= 1;
    }
    return CompletableFuture.failedFuture(
        alone ? forgotten : new IOException("its session was closed", forgotten));
  }

  /**
   * The reply of a server, unless the connection breaks. Cancelling the future cancels the call.
   */
  private record Answer<T>(CompletableFuture<T> answer, CompletableFuture<?> broken) {
    T get() throws InterruptedException, ExecutionException {
      try {
        CompletableFuture.anyOf(answer, broken).get();
        return answer.get();
      } finally {
        answer.cancel(true);
      }
    }

    T get(Duration timeout) throws InterruptedException, ExecutionException, TimeoutException {
      try {
        CompletableFuture.anyOf(answer, broken).get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        return answer.get();
      } finally {
        answer.cancel(true);
      }
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
