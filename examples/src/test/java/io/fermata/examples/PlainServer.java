package io.fermata.examples;

import io.fermata.mcp.McpResult;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.McpTool;
import java.util.concurrent.CompletableFuture;

/** Plain tools that do nothing, in each of the ways in which a handler can answer. */
final class PlainServer {
  static final String DONE = "done";
  static final String AT_ONCE = "at_once";
  static final String ASYNC = "async";
  static final String BLOCKING = "blocking";

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
            .port(0)
            .start();
    System.out.println(server.endpoint());
    Thread.currentThread().join();
  }
}
