package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.flow.json.Limits;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.dispatch.McpDispatcher;
import io.fermata.mcp.feature.McpChanges;
import io.fermata.mcp.protocol.GracefulShutdown;
import io.fermata.mcp.protocol.MessageSource;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcMessage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running MCP server over a pair of streams, usually standard input and output. Calls run
 * concurrently, and are answered in the order in which they finish.
 */
public final class McpStdio implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(McpStdio.class);

  /** How many requests may be open; the server refuses others if none of these ends soon. */
  private static final int MAX_OPEN = 1_024;

  /** A client that sends faster than its requests end is slowed down; the server reads on. */
  private static final int SECONDS_TO_WAIT = 1;

  private static final int SECONDS_TO_FINISH = 30;
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(2);

  private final McpDispatcher protocol;
  private final OutputStream out;
  private final LineReader lines;

  /** Requests that are not answered yet, each with its progress. */
  private final Map<JsonNode, OutboundQueue> open = new ConcurrentHashMap<>();

  /** One permit per open request, which holds it until its last output is written. */
  private final Semaphore all = new Semaphore(MAX_OPEN);

  private final CountDownLatch ended = new CountDownLatch(1);

  /** Writes one message after the other, so that a slow reader holds no thread of the host. */
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(task -> daemon(task, "fermata-mcp-writer"));

  /** Runs the writer again for a request that had progress. */
  private final Executor later =
      CompletableFuture.delayedExecutor(OutboundQueue.PAUSE_MILLIS, TimeUnit.MILLISECONDS, writer);

  private final MessageSource.Connection connection =
      new MessageSource.Connection(AuthenticatedCaller.LOCAL, progress());
  private final McpChanges changes;
  private final GracefulShutdown drain;
  private final Runnable onClose;

  /**
   * @param onClose what to close with it
   */
  McpStdio(
      McpDispatcher protocol,
      McpChanges changes,
      GracefulShutdown drain,
      Runnable onClose,
      InputStream in,
      OutputStream out) {
    this.protocol = protocol;
    this.changes = changes;
    this.drain = drain;
    this.onClose = onClose;
    this.out = out;
    this.lines = new LineReader(in);
  }

  /** Begins to serve. */
  McpStdio start() {
    daemon(this::read, "fermata-mcp-reader").start();
    return this;
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  private OutboundQueue progress() {
    return new OutboundQueue(woken -> writer.execute(() -> writeProgress(woken)));
  }

  /** Changes what is offered, and notifies the client. */
  public McpChanges changes() {
    return changes;
  }

  /** Waits until the input has ended and the calls in flight are answered. */
  public void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /**
   * Shuts down gracefully, as {@link McpServer#drain} does: new calls are rejected, and those in
   * flight are answered or handed back.
   *
   * @param timeout how long calls in flight may take
   */
  public void drain(Duration timeout) {
    drain.run(Limits.timeout(timeout));
    try {
      // An answer that is complete may not be written yet.
      boolean written = all.tryAcquire(MAX_OPEN, WRITE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      close();
      if (written) {
        // The reader waits for the same permits.
        all.release(MAX_OPEN);
      }
      if (!written || !writer.awaitTermination(WRITE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.warn("The client did not read all output within {}", WRITE_TIMEOUT);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      close();
    }
  }

  /** Stops answering. The streams belong to the caller and stay open. */
  @Override
  public void close() {
    writer.shutdown();
    onClose.run();
    ended.countDown();
  }

  private void read() {
    try {
      byte[] line = lines.next();
      while (line != null && ended.getCount() > 0) {
        receive(line);
        line = lines.next();
      }
      // These requests wait for a client that is gone.
      open.values().stream()
          .filter(OutboundQueue::needsKeepAlive)
          .forEach(OutboundQueue::disconnect);
      if (all.tryAcquire(MAX_OPEN, SECONDS_TO_FINISH, TimeUnit.SECONDS)) {
        // A shutdown waits for the same permits.
        all.release(MAX_OPEN);
      } else {
        LOG.warn(
            "The input has ended, but some calls were not answered within {} s", SECONDS_TO_FINISH);
      }
    } catch (IOException e) {
      LOG.warn("Cannot read the input: {}", e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      close();
    }
  }

  private void receive(byte[] line) throws InterruptedException {
    JsonNode message = MissingNode.getInstance();
    RpcException refused = null;
    try {
      if (line == LineReader.TOO_LONG) {
        throw RpcException.invalidRequest(
            "The line exceeds " + JsonRpcCodec.MAX_BYTES + " bytes: send a shorter message.");
      }
      message = JsonRpcCodec.read(line);
    } catch (RpcException refusal) {
      refused = refusal;
    }
    JsonNode cancelled = cancelled(message);
    OutboundQueue progress = open.remove(cancelled);
    if (progress != null) {
      progress.cancel();
    }
    if (RpcMessage.isResponse(message) || (notification(message) && !cancelled.isMissingNode())) {
      // It needs no permit: the request that it answers or cancels may hold the last one.
      protocol.answer(message, connection, null);
      return;
    }
    if (!all.tryAcquire(SECONDS_TO_WAIT, TimeUnit.SECONDS)) {
      refuse(message);
      return;
    }
    try {
      if (refused != null) {
        throw refused;
      }
      receive(message);
    } catch (RpcException refusal) {
      write(List.of(JsonRpcCodec.error(NullNode.getInstance(), refusal)));
    }
  }

  /** Rejects a message as overloaded. No further line is read until the error is written. */
  private void refuse(JsonNode message) throws InterruptedException {
    if (notification(message)) {
      return;
    }
    byte[] error =
        JsonRpcCodec.error(
            RpcMessage.idOf(message, NullNode.getInstance()), RpcException.overloaded());
    try {
      writer.submit(() -> writeNow(List.of(error))).get();
    } catch (RejectedExecutionException | ExecutionException closed) {
      // The client is gone.
    }
  }

  private void receive(JsonNode message) {
    JsonNode id = message.path("id");
    OutboundQueue progress = progress();
    if (!id.isMissingNode() && open.putIfAbsent(id, progress) != null) {
      throw RpcException.invalidRequest(
          "Another request in flight has this id: choose another one.");
    }
    protocol
        .answer(message, connection, progress)
        .whenComplete((answer, never) -> answered(message, id, progress, answer));
  }

  private static JsonNode cancelled(JsonNode message) {
    return "notifications/cancelled".equals(message.path("method").textValue())
        ? message.path("params").path("requestId")
        : MissingNode.getInstance();
  }

  private void answered(JsonNode message, JsonNode id, OutboundQueue progress, Response answer) {
    boolean wanted = id.isMissingNode() ? !notification(message) : open.remove(id, progress);
    List<byte[]> last = progress.end();
    if (answer.body != null && wanted) {
      last.add(answer.body);
      write(last);
    } else {
      all.release();
    }
  }

  /** A notification is never answered, not even by an error. */
  private static boolean notification(JsonNode message) {
    return message.isObject() && !message.has("id") && message.path("method").isTextual();
  }

  /** Writes the progress of a request, and looks for more until there is none. */
  private void writeProgress(OutboundQueue progress) {
    List<byte[]> notifications = progress.take();
    if (!notifications.isEmpty()) {
      writeNow(notifications);
      later.execute(() -> writeProgress(progress));
    }
  }

  /** Writes the last output for a message. */
  private void write(List<byte[]> messages) {
    try {
      writer.execute(
          () -> {
            try {
              writeNow(messages);
            } finally {
              all.release();
            }
          });
    } catch (RejectedExecutionException closed) {
      all.release();
    }
  }

  private void writeNow(List<byte[]> messages) {
    ByteArrayOutputStream lines = new ByteArrayOutputStream();
    for (byte[] message : messages) {
      lines.writeBytes(message);
      lines.write('\n');
    }
    try {
      lines.writeTo(out);
      out.flush();
      // System.out does not throw.
      if (out instanceof PrintStream print && print.checkError()) {
        throw new IOException("its reader is gone");
      }
    } catch (IOException e) {
      LOG.warn("Cannot write the output: {}", e.getMessage());
      close();
    }
  }
}
