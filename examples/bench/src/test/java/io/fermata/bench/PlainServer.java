package io.fermata.bench;

import io.fermata.mcp.McpServer;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Plain tools that do nothing or sleep, with each kind of handler. */
final class PlainServer {
  static final String DONE = "done";
  static final String AT_ONCE = "at_once";
  static final String ASYNC = "async";
  static final String BLOCKING = "blocking";
  static final String SLEEPING_ASYNC = "sleeping_async";
  static final String SLEEPING_BLOCKING = "sleeping_blocking";

  /** Returns the maximum number of threads since its last call. */
  static final String THREADS = "threads";

  private static final int SLEEP_SECONDS = 1;

  private PlainServer() {}

  public static void main(String[] args) throws Exception {
    McpServer server =
        McpServer.plain()
            .tool(
                McpTool.of(AT_ONCE, "Does nothing, on the thread that read the call")
                    .callAtOnce(call -> McpResult.text(DONE)))
            .tool(
                McpTool.of(ASYNC, "Does nothing, and might answer later")
                    .callAsync(call -> CompletableFuture.completedFuture(McpResult.text(DONE))))
            .tool(
                McpTool.of(BLOCKING, "Does nothing, on a thread that it might block")
                    .call(call -> McpResult.text(DONE)))
            .tool(
                McpTool.of(SLEEPING_ASYNC, "Sleeps, and answers later")
                    .callAsync(
                        call ->
                            new CompletableFuture<McpResult>()
                                .completeOnTimeout(
                                    McpResult.text(DONE), SLEEP_SECONDS, TimeUnit.SECONDS)))
            .tool(
                McpTool.of(SLEEPING_BLOCKING, "Sleeps, on a thread that it blocks")
                    .call(
                        call -> {
                          TimeUnit.SECONDS.sleep(SLEEP_SECONDS);
                          return McpResult.text(DONE);
                        }))
            .tool(McpTool.of(THREADS, "Counts threads").callAtOnce(call -> threads()))
            .port(0)
            .start();
    System.out.println(server.endpoint());
    Thread.currentThread().join();
  }

  private static McpResult threads() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    McpResult peak = McpResult.text(String.valueOf(threads.getPeakThreadCount()));
    threads.resetPeakThreadCount();
    return peak;
  }
}
