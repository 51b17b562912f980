package io.fermata.mcp;

import io.fermata.session.ToolHost;
import io.vertx.core.Vertx;
import java.net.URI;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running MCP server over HTTP. It offers the tools of a host to MCP clients of every revision
 * from 2025-03-26 to 2026-07-28, at one endpoint.
 *
 * <pre>{@code
 * try (McpServer server = McpServer.serving(host).name("quotes").version("1.0").start()) {
 *   System.out.println(server.endpoint());
 *   …
 * }
 * }</pre>
 */
public final class McpServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(McpServer.class);
  private static final int SECONDS_TO_CLOSE = 15;

  private final Vertx vertx;
  private final Streams streams;
  private final Subscriptions subscriptions;
  private final Workers workers;
  private final McpChanges changes;
  private final String host;
  private final int port;

  McpServer(
      Vertx vertx,
      Streams streams,
      Subscriptions subscriptions,
      Workers workers,
      McpChanges changes,
      String host,
      int port) {
    this.vertx = vertx;
    this.streams = streams;
    this.subscriptions = subscriptions;
    this.workers = workers;
    this.changes = changes;
    this.host = host;
    this.port = port;
  }

  /** Begins to set up a server for a host's tools. */
  public static McpServerBuilder serving(ToolHost host) {
    return new McpServerBuilder(host);
  }

  /** Begins to set up a server that has no flows, only what is registered with it. */
  public static McpServerBuilder plain() {
    return new McpServerBuilder(new NoHost());
  }

  /** Changes what is offered, and tells the clients that listen. */
  public McpChanges changes() {
    return changes;
  }

  /** The port it listens on: the one asked for, or the one it was given. */
  public int port() {
    return port;
  }

  /** Where clients find it, as seen from this machine. */
  public URI endpoint() {
    return URI.create("http://" + host + ":" + port + HttpEdge.PATH);
  }

  /** Takes no more calls, lets those under way finish for a few seconds, and ends. */
  @Override
  public void close() {
    streams.close();
    subscriptions.close();
    try {
      vertx
          .close()
          .toCompletionStage()
          .toCompletableFuture()
          .get(SECONDS_TO_CLOSE, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.warn("The MCP server at port {} did not close in good order", port, e);
    } finally {
      workers.close();
    }
  }
}
