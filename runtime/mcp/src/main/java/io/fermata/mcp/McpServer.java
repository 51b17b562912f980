package io.fermata.mcp;

import io.fermata.flow.json.Limits;
import io.fermata.mcp.feature.McpChanges;
import io.fermata.mcp.http.HttpVerticle;
import io.fermata.mcp.protocol.GracefulShutdown;
import io.fermata.mcp.protocol.HandlerExecutor;
import io.fermata.session.ToolHost;
import io.fermata.session.key.Closing;
import io.vertx.core.Vertx;
import java.net.URI;
import java.time.Duration;
import java.util.Objects;
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

  /** How long calls in flight may take by default. */
  private static final Duration GRACE = Duration.ofSeconds(5);

  private final Vertx vertx;
  private final GracefulShutdown shutdown;
  private final HandlerExecutor workers;
  private final McpChanges changes;
  private final String host;
  private final int port;
  private final Runnable closed;
  private final Closing closing = new Closing();

  McpServer(
      Vertx vertx,
      GracefulShutdown shutdown,
      HandlerExecutor workers,
      McpChanges changes,
      String host,
      int port,
      Runnable closed) {
    this.vertx = vertx;
    this.shutdown = shutdown;
    this.workers = workers;
    this.changes = changes;
    this.host = host;
    this.port = port;
    this.closed = closed;
  }

  /** A builder of a server for a host's tools. */
  public static McpServerBuilder serving(ToolHost host) {
    return new McpServerBuilder(Objects.requireNonNull(host, "host"));
  }

  /** A builder of a server without flows, which offers only what is registered with it. */
  public static McpServerBuilder plain() {
    return new McpServerBuilder(new EmptyHost());
  }

  /** Changes what is offered, and notifies subscribed clients. */
  public McpChanges changes() {
    return changes;
  }

  /** The port that the server listens on. */
  public int port() {
    return port;
  }

  /** The address of the endpoint, as seen from this machine. */
  public URI endpoint() {
    return URI.create("http://" + host + ":" + port + HttpVerticle.PATH);
  }

  /** Shuts down as {@link #drain} does, with a timeout of five seconds. */
  @Override
  public void close() {
    drain(GRACE);
  }

  /**
   * Shuts down gracefully. From now on {@code /health/ready} is 503, new calls are rejected as
   * {@code shutting_down}, and event streams end. Calls in flight are answered. Calls of flows and
   * agents that take longer are {@linkplain ToolHost#handBack() handed back}: their clients learn
   * that the work continues and ask for its outcome later. Who drains a server that is shutting
   * down returns when it has. Close the host after the server.
   *
   * @param timeout how long calls in flight may take; of several callers the most impatient one
   *     decides
   */
  public void drain(Duration timeout) {
    Duration longest = Limits.timeout(timeout);
    closing.close(longest, Duration.ofSeconds(SECONDS_TO_CLOSE), () -> drainFirst(longest));
  }

  private void drainFirst(Duration timeout) {
    shutdown.run(timeout, closing);
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
      closed.run();
    }
  }
}
