package io.fermata.session.key;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The end of something that several threads may close: the first one does, and the others return
 * when it has. A process that a signal ends would otherwise end in the middle.
 */
public final class Closing {
  private final AtomicReference<@Nullable Thread> closer = new AtomicReference<>();
  private final CompletableFuture<Void> hurried = new CompletableFuture<>();
  private final CompletableFuture<Void> ended = new CompletableFuture<>();

  /**
   * Closes, or waits for who does. The thread that closes may call this again, from what it calls.
   *
   * @param timeout how long the work in progress may take for this caller, who hurries another one
   *     after it
   * @param rest what closing may take after that
   */
  public void close(Duration timeout, Duration rest, Runnable close) {
    Thread caller = Thread.currentThread();
    if (closer.compareAndSet(null, caller)) {
      try {
        close.run();
      } finally {
        ended.complete(null);
      }
    } else if (closer.get() != caller && !isOver(timeout)) {
      hurried.complete(null);
      isOver(rest);
    }
  }

  /** Stops without waiting, also while another thread closes. */
  public void stop(Runnable stop) {
    closer.compareAndSet(null, Thread.currentThread());
    try {
      stop.run();
    } finally {
      ended.complete(null);
    }
  }

  /** Completes with what is waited for, or earlier if a caller is in a greater hurry. */
  public CompletableFuture<?> orHurried(CompletableFuture<?> awaited) {
    return CompletableFuture.anyOf(awaited, hurried);
  }

  /** Also for who is interrupted there is nothing left to wait for. */
  private boolean isOver(Duration timeout) {
    try {
      ended.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    } catch (ExecutionException e) {
      throw new IllegalStateException("The end never fails", e);
    }
  }
}
