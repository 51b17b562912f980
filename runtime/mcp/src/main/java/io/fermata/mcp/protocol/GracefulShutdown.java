package io.fermata.mcp.protocol;

import io.fermata.session.ToolHost;
import io.fermata.session.key.Closing;
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

  /** How long it may take to hand calls back. */
  private static final Duration HAND_BACK_TIMEOUT = Duration.ofSeconds(3);

  private static final Duration RETRY_INTERVAL = Duration.ofMillis(200);

  /** How long it may take to write the last answers. */
  private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(1);

  private final RequestGate gate;
  private final ToolHost host;
  private final Runnable endOfStreams;

  /**
   * @param endOfStreams ends the streams of subscribers
   */
  public GracefulShutdown(RequestGate gate, ToolHost host, Runnable endOfStreams) {
    this.gate = gate;
    this.host = host;
    this.endOfStreams = endOfStreams;
  }

  /**
   * Shuts down; must be called once.
   *
   * @param timeout how long calls in flight may take
   */
  public void run(Duration timeout) {
    run(timeout, new Closing());
  }

  /** As {@link #run(Duration)}; another caller may hurry it. */
  public void run(Duration timeout, Closing closing) {
    CompletableFuture<Void> empty = gate.close();
    endOfStreams.run();
    if (await(closing.orHurried(empty), timeout) && empty.isDone()) {
      return;
    }
    LOG.info("Calls are still in flight after {} at most; they are handed back", timeout);
    if (!handBack(empty)) {
      gate.cutOff();
      await(empty, WRITE_TIMEOUT);
    }
  }

  /** Hands back repeatedly, because a call may begin to wait only now. */
  private boolean handBack(CompletableFuture<Void> empty) {
    long end = System.nanoTime() + HAND_BACK_TIMEOUT.toNanos();
    boolean left = false;
    while (!left && System.nanoTime() < end && !Thread.currentThread().isInterrupted()) {
      // First of all: a call that the host hands back is answered as if its time were over.
      gate.handBackAll();
      host.handBack();
      left = await(empty, RETRY_INTERVAL);
    }
    return left;
  }

  private static boolean await(CompletableFuture<?> empty, Duration timeout) {
    try {
      empty.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } catch (ExecutionException e) {
      throw new IllegalStateException("The gate's stage never fails", e);
    }
  }
}
