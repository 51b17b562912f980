package io.fermata.mcp.protocol;

import io.fermata.session.ToolHost;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shuts a server down in order: new requests are rejected, streams end, requests in flight are
 * answered. What does not finish in time is handed back to the host.
 */
public final class GracefulShutdown {
  private static final Logger LOG = LoggerFactory.getLogger(GracefulShutdown.class);

  /** How long a host may take to tell those who are handed back. */
  private static final Duration HANDING_BACK = Duration.ofSeconds(3);

  private static final Duration BETWEEN = Duration.ofMillis(200);

  /** How long answers may take to be written. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(1);

  private final RequestGate gate;
  private final ToolHost host;
  private final Runnable endOfStreams;

  /**
   * @param endOfStreams tells those who listen
   */
  public GracefulShutdown(RequestGate gate, ToolHost host, Runnable endOfStreams) {
    this.gate = gate;
    this.host = host;
    this.endOfStreams = endOfStreams;
  }

  RequestGate gate() {
    return gate;
  }

  /**
   * Ends the work, once.
   *
   * @param patience how long calls under way may take
   */
  public void run(Duration patience) {
    CompletableFuture<Void> empty = gate.close();
    endOfStreams.run();
    if (await(empty, patience)) {
      return;
    }
    LOG.info("Calls are still in flight after {}; they are handed back", patience);
    if (!handBack(empty)) {
      gate.cutOff();
      await(empty, LAST_WORDS);
    }
  }

  /** Says it again and again: a call may come to where it waits only now. */
  private boolean handBack(CompletableFuture<Void> empty) {
    long end = System.nanoTime() + HANDING_BACK.toNanos();
    boolean left = false;
    while (!left && System.nanoTime() < end && !Thread.currentThread().isInterrupted()) {
      host.handBack();
      gate.handBackAll();
      left = await(empty, BETWEEN);
    }
    return left;
  }

  private static boolean await(CompletableFuture<Void> empty, Duration patience) {
    try {
      empty.get(patience.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException("Nothing fails to be empty", e);
    }
  }
}
