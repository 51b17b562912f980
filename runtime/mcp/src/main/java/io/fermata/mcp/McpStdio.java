package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
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
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running MCP server over a pair of streams, usually standard input and output. Calls run
 * concurrently, and are answered in the order in which they finish.
 */
public final class McpStdio implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(McpStdio.class);
  private static final int MAX_UNDER_WAY = 256;

  /** How many may be open, with those that wait for the client. */
  private static final int MAX_OPEN = 1_024;

  private static final int SECONDS_TO_FINISH = 30;
  private static final Duration LAST_WORDS = Duration.ofSeconds(2);

  private final McpDispatcher protocol;
  private final OutputStream out;
  private final LineReader lines;

  /** Requests that still want an answer, each with its progress. */
  private final Map<JsonNode, OutboundQueue> open = new ConcurrentHashMap<>();

  /** What works for the client: where there is no room, nothing more is read. */
  private final Semaphore underWay = new Semaphore(MAX_UNDER_WAY);

  /** What is not over, be it that it works or waits for what is yet to be read. */
  private final Semaphore all = new Semaphore(MAX_OPEN);

  private final CountDownLatch ended = new CountDownLatch(1);

  /** Writes one message after the other, so that a slow reader holds no thread of the host. */
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(task -> daemon(task, "fermata-mcp-writer"));

  /** Brings the writer back to a request that had progress. */
  private final Executor later =
      CompletableFuture.delayedExecutor(OutboundQueue.PAUSE_MILLIS, TimeUnit.MILLISECONDS, writer);

  private final MessageSource.Connection peer =
      new MessageSource.Connection(
          AuthenticatedCaller.LOCAL,
          new OutboundQueue(woken -> writer.execute(() -> tell(woken, () -> {}))));
  private final McpChanges changes;
  private final GracefulShutdown drain;
  private final Runnable closing;

  private McpStdio(
      McpDispatcher protocol,
      McpChanges changes,
      GracefulShutdown drain,
      Runnable closing,
      InputStream in,
      OutputStream out) {
    this.protocol = protocol;
    this.changes = changes;
    this.drain = drain;
    this.closing = closing;
    this.out = out;
    this.lines = new LineReader(in);
  }

  /**
   * Begins to serve.
   *
   * @param closing what to close with it
   */
  static McpStdio start(
      McpDispatcher protocol,
      McpChanges changes,
      GracefulShutdown drain,
      Runnable closing,
      InputStream in,
      OutputStream out) {
    McpStdio edge = new McpStdio(protocol, changes, drain, closing, in, out);
    daemon(edge::read, "fermata-mcp-reader").start();
    return edge;
  }

  /** The room that a message takes until there is nothing more to say about it. */
  private final class Room {
    private final AtomicBoolean works = new AtomicBoolean(true);

    /** It waits for the client, and keeps nobody from being read meanwhile. */
    void releaseSlot() {
      if (works.compareAndSet(true, false)) {
        underWay.release();
      }
    }

    void leave() {
      releaseSlot();
      all.release();
    }
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  private OutboundQueue progress(Room room) {
    return new OutboundQueue(woken -> writer.execute(() -> tell(woken, room::releaseSlot)));
  }

  /** Changes what is offered, and tells the client. */
  public McpChanges changes() {
    return changes;
  }

  /** Waits until the input has ended and the calls under way are answered. */
  public void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /**
   * Ends in good order, as {@link McpServer#drain} does: new calls are refused, and those under way
   * are answered or handed back.
   *
   * @param patience how long calls under way may take
   */
  public void drain(Duration patience) {
    drain.run(patience);
    try {
      // An answer that is there is not yet written.
      boolean written = all.tryAcquire(MAX_OPEN, LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS);
      close();
      if (written) {
        // The reader waits for the same permits.
        all.release(MAX_OPEN);
      }
      if (!written || !writer.awaitTermination(LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS)) {
        LOG.warn("The client did not read all output within {}", LAST_WORDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      close();
    }
  }

  /** Stops answering. The streams stay open: they are the caller's. */
  @Override
  public void close() {
    writer.shutdown();
    closing.run();
    ended.countDown();
  }

  private void read() {
    try {
      byte[] line = lines.next();
      while (line != null && ended.getCount() > 0) {
        receive(line);
        line = lines.next();
      }
      // These wait for a client that is not there any more.
      open.values().stream()
          .filter(OutboundQueue::needsKeepAlive)
          .forEach(OutboundQueue::disconnect);
      if (all.tryAcquire(MAX_OPEN, SECONDS_TO_FINISH, TimeUnit.SECONDS)) {
        // A shutdown waits for the same permits.
        all.release(MAX_OPEN);
      } else {
        LOG.warn(
            "The input has ended, and some calls were not answered within {} s", SECONDS_TO_FINISH);
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
            "The line is longer than " + JsonRpcCodec.MAX_BYTES + " bytes.");
      }
      message = JsonRpcCodec.read(line);
    } catch (RpcException refusal) {
      refused = refusal;
    }
    if (RpcMessage.isResponse(message)) {
      // Those under way may be waiting for it, so it waits for none of them.
      protocol.answer(message, peer, null);
      return;
    }
    OutboundQueue cancelled = open.remove(cancelled(message));
    if (cancelled != null) {
      cancelled.disconnect();
    }
    if (!all.tryAcquire()) {
      refuse(message);
      return;
    }
    underWay.acquire();
    Room room = new Room();
    try {
      if (refused != null) {
        throw refused;
      }
      receive(message, room);
    } catch (RpcException refusal) {
      write(List.of(JsonRpcCodec.error(NullNode.getInstance(), refusal)), room);
    }
  }

  /** Says that there is too much to do; who does not hear that is not read on. */
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
      // There is nobody to tell any more.
    }
  }

  private void receive(JsonNode message, Room room) {
    JsonNode id = message.path("id");
    OutboundQueue progress = progress(room);
    if (!id.isMissingNode() && open.putIfAbsent(id, progress) != null) {
      throw RpcException.invalidRequest("The id is that of another request under way.");
    }
    protocol
        .answer(message, peer, progress)
        .whenComplete((answer, never) -> answered(message, id, progress, answer, room));
  }

  private static JsonNode cancelled(JsonNode message) {
    return "notifications/cancelled".equals(message.path("method").textValue())
        ? message.path("params").path("requestId")
        : MissingNode.getInstance();
  }

  private void answered(
      JsonNode message, JsonNode id, OutboundQueue progress, Response answer, Room room) {
    boolean wanted = id.isMissingNode() ? !notification(message) : open.remove(id, progress);
    List<byte[]> last = progress.end();
    if (answer.body != null && wanted) {
      last.add(answer.body);
      write(last, room);
    } else {
      room.leave();
    }
  }

  /** A notification is never answered, not even by an error. */
  private static boolean notification(JsonNode message) {
    return message.isObject() && !message.has("id") && message.path("method").isTextual();
  }

  /** Writes the progress of a request, and looks for more until there is none for a while. */
  private void tell(OutboundQueue progress, Runnable waits) {
    if (progress.needsKeepAlive()) {
      waits.run();
    }
    List<byte[]> notifications = progress.take();
    if (!notifications.isEmpty()) {
      writeNow(notifications);
      later.execute(() -> tell(progress, waits));
    }
  }

  /** Writes the last that there is to say about a message. */
  private void write(List<byte[]> messages, Room room) {
    try {
      writer.execute(
          () -> {
            try {
              writeNow(messages);
            } finally {
              room.leave();
            }
          });
    } catch (RejectedExecutionException closed) {
      room.leave();
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
    } catch (IOException e) {
      LOG.warn("Cannot write the output: {}", e.getMessage());
      close();
    }
  }
}
