package io.fermata.mcp.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Slow plain tools that many clients call at once. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ManyCallsTest {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int FEW = 200;
  private static final int MANY = 2_000;
  private static final int AT_ONCE = HandlerExecutor.THREADS + 8;

  /** How many threads the JVM may start meanwhile for itself. */
  private static final int OTHERS = 10;

  private final Queue<CompletableFuture<McpResult>> waiting = new ConcurrentLinkedQueue<>();
  private final CyclicBarrier all = new CyclicBarrier(AT_ONCE);
  private volatile CountDownLatch arrived = new CountDownLatch(0);
  private McpServer server;

  @BeforeAll
  void start() {
    server =
        McpServer.plain()
            .tool(
                McpTool.of("wait", "Answers when the test completes it").callAsync(call -> waits()))
            .tool(McpTool.of("sleep", "Keeps its thread for a while").call(call -> sleeps()))
            .tool(McpTool.of("meet", "Waits for the others").call(call -> meets()))
            .handlerThreads(AT_ONCE)
            .port(0)
            .start();
  }

  @AfterAll
  void stop() {
    server.close();
  }

  private CompletableFuture<McpResult> waits() {
    CompletableFuture<McpResult> answer = new CompletableFuture<>();
    waiting.add(answer);
    arrived.countDown();
    return answer;
  }

  private static McpResult sleeps() throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(20);
    return McpResult.text("slept");
  }

  private McpResult meets() throws Exception {
    all.await(60, TimeUnit.SECONDS);
    return McpResult.text("met");
  }

  /** Sends each call over its own connection, without a thread per call. */
  private List<Socket> begun(String tool, int calls) throws IOException {
    String body =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",%s}}"
            .formatted(tool, Wired.META);
    String request =
        """
        POST /mcp HTTP/1.1
        Host: localhost
        Content-Type: application/json
        Accept: application/json, text/event-stream
        MCP-Protocol-Version: 2026-07-28
        Mcp-Method: tools/call
        Mcp-Name: %s
        Connection: close
        Content-Length: %d

        """
                .formatted(tool, body.length())
                .replace("\n", "\r\n")
            + body;
    List<Socket> sockets = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
      socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
      sockets.add(socket);
    }
    return sockets;
  }

  private static void requireAnswered(List<Socket> calls, String text) throws IOException {
    for (Socket call : calls) {
      try (call) {
        assertThat(call.getInputStream().readAllBytes())
            .asString()
            .startsWith("HTTP/1.1 200 ")
            .contains("\"text\":\"" + text + "\"");
      }
    }
  }

  /** Lets this many calls wait at a time, and returns the maximum number of threads. */
  private int threadsWhileWaiting(int calls) throws Exception {
    arrived = new CountDownLatch(calls);
    THREADS.resetPeakThreadCount();
    List<Socket> begun = begun("wait", calls);
    assertThat(arrived.await(60, TimeUnit.SECONDS)).as("All of them are in flight").isTrue();
    for (CompletableFuture<McpResult> each = waiting.poll(); each != null; each = waiting.poll()) {
      each.complete(McpResult.text("done"));
    }
    requireAnswered(begun, "done");
    return THREADS.getPeakThreadCount();
  }

  private int threadsWhileSleeping(int calls) throws Exception {
    THREADS.resetPeakThreadCount();
    requireAnswered(begun("sleep", calls), "slept");
    return THREADS.getPeakThreadCount();
  }

  @Test
  void callsThatAnswerLaterWaitTwoThousandAtATimeAndHoldNoThread() throws Exception {
    int few = threadsWhileWaiting(FEW);

    assertThat(threadsWhileWaiting(MANY)).isLessThan(few + OTHERS);
  }

  @Test
  void asManyCallsMayBlockAtATimeAsThereAreThreadsForHandlers() throws Exception {
    requireAnswered(begun("meet", AT_ONCE), "met");
  }

  @Test
  void twoThousandCallsThatBlockAreAllAnsweredByNoMoreThreadsThanTwoHundredHave() throws Exception {
    int few = threadsWhileSleeping(FEW);

    assertThat(threadsWhileSleeping(MANY)).isLessThan(few + OTHERS);
  }
}
