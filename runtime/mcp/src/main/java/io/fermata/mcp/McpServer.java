package io.fermata.mcp;

import io.fermata.mcp.feature.McpChanges;
import io.fermata.mcp.http.HttpVerticle;
import io.fermata.mcp.protocol.GracefulShutdown;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.session.ToolHost;
import io.vertx.core.Vertx;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
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

  /** How long calls in flight may take by default. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final Vertx vertx;
  private final GracefulShutdown drain;
  private final HandlerExecutor workers;
  private final McpChanges changes;
  private final String host;
  private final int port;
  private final AtomicBoolean ended = new AtomicBoolean();

  McpServer(
      Vertx vertx,
      GracefulShutdown drain,
      HandlerExecutor workers,
      McpChanges changes,
      String host,
      int port) {
    this.vertx = vertx;
    this.drain = drain;
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
    return new McpServerBuilder(new EmptyHost());
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
    return URI.create("http://" + host + ":" + port + HttpVerticle.PATH);
  }

  /** As {@link #drain}, within a few seconds. */
  @Override
  public void close() {
    drain(GRACE);
  }

  /**
   * Ends in good order. From now on {@code /health/ready} is 503, new calls are refused as {@code
   * shutting_down}, and the streams of those who listen end. Calls under way get their answers;
   * those of flows and agents that take longer are {@linkplain ToolHost#handBack() handed back}:
   * their clients are told that the work goes on, and ask for its outcome later. Close the host
   * after it.
   *
   * @param patience how long calls under way may take
   */
  public void drain(Duration patience) {
    if (!ended.compareAndSet(false, true)) {
      return;
    }
    drain.run(patience);
    try {
      vertx
          .close()
          .toCompletionStage()
          .toCompletableFuture()
          .get(SECONDS_TO_CLOSE, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.warn("The MCP server at port {} did not close cleanly", port, e);
    } finally {
      workers.close();
    }
  }
}
