package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
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
  private static final int MAX_UNDER_WAY = 256;
  private static final int SECONDS_TO_FINISH = 30;

  private final Protocol protocol;
  private final OutputStream out;
  private final LineReader lines;
  private final Arrival.Line peer = new Arrival.Line("local");

  /** Requests that still want an answer. */
  private final Set<JsonNode> open = ConcurrentHashMap.newKeySet();

  private final Semaphore underWay = new Semaphore(MAX_UNDER_WAY);
  private final CountDownLatch ended = new CountDownLatch(1);

  /** Writes one answer after the other, so that a slow reader holds no thread of the host. */
  private final ExecutorService writer =
      Executors.newSingleThreadExecutor(task -> daemon(task, "fermata-mcp-writer"));

  private McpStdio(Protocol protocol, InputStream in, OutputStream out) {
    this.protocol = protocol;
    this.out = out;
    this.lines = new LineReader(in);
  }

  static McpStdio start(Protocol protocol, InputStream in, OutputStream out) {
    McpStdio edge = new McpStdio(protocol, in, out);
    daemon(edge::read, "fermata-mcp-reader").start();
    return edge;
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /** Waits until the input has ended and the calls under way are answered. */
  public void awaitEnd() throws InterruptedException {
    ended.await();
  }

  /** Stops answering. The streams stay open: they are the caller's. */
  @Override
  public void close() {
    writer.shutdown();
    ended.countDown();
  }

  private void read() {
    try {
      byte[] line = lines.next();
      while (line != null && ended.getCount() > 0) {
        underWay.acquire();
        receive(line);
        line = lines.next();
      }
      if (!underWay.tryAcquire(MAX_UNDER_WAY, SECONDS_TO_FINISH, TimeUnit.SECONDS)) {
        LOG.warn("The input ended, and calls were not answered within {} s", SECONDS_TO_FINISH);
      }
    } catch (IOException e) {
      LOG.warn("The input cannot be read any more: {}", e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      close();
    }
  }

  private void receive(byte[] line) {
    try {
      if (line == LineReader.TOO_LONG) {
        throw Refusal.invalid("The line is longer than " + Wire.MAX_BYTES + " bytes.");
      }
      receive(Wire.read(line));
    } catch (Refusal refusal) {
      write(Wire.error(NullNode.getInstance(), refusal));
    }
  }

  private void receive(JsonNode message) {
    JsonNode cancelled = cancelled(message);
    if (!cancelled.isMissingNode()) {
      open.remove(cancelled);
    }
    JsonNode id = message.path("id");
    if (!id.isMissingNode() && !open.add(id)) {
      throw Refusal.invalid("The id is that of another request under way.");
    }
    protocol
        .answer(message, peer, null)
        .whenComplete((answer, never) -> answered(message, id, answer));
  }

  private static JsonNode cancelled(JsonNode message) {
    return "notifications/cancelled".equals(message.path("method").textValue())
        ? message.path("params").path("requestId")
        : MissingNode.getInstance();
  }

  private void answered(JsonNode message, JsonNode id, Answer answer) {
    boolean wanted = id.isMissingNode() ? !notification(message) : open.remove(id);
    if (answer.body != null && wanted) {
      write(answer.body);
    } else {
      underWay.release();
    }
  }

  /** A notification is never answered, not even by an error. */
  private static boolean notification(JsonNode message) {
    return message.isObject() && message.path("method").isTextual();
  }

  private void write(byte[] body) {
    byte[] line = Arrays.copyOf(body, body.length + 1);
    line[body.length] = '\n';
    try {
      writer.execute(() -> writeNow(line));
    } catch (RejectedExecutionException closed) {
      underWay.release();
    }
  }

  private void writeNow(byte[] line) {
    try {
      out.write(line);
      out.flush();
    } catch (IOException e) {
      LOG.warn("The output cannot be written any more: {}", e.getMessage());
      close();
    } finally {
      underWay.release();
    }
  }
}
