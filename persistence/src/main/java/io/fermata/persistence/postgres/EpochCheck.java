package io.fermata.persistence.postgres;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks the database which epochs of this host have not ended. Those who ask while a request is
 * under way share the next one, so however many ask, there is one at a time.
 */
final class EpochCheck {
  private final Supplier<CompletableFuture<Map<Integer, Long>>> request;
  private boolean running;
  private @Nullable CompletableFuture<Map<Integer, Long>> waiting;

  EpochCheck(Supplier<CompletableFuture<Map<Integer, Long>>> request) {
    this.request = request;
  }

  /** The epochs that have not ended when this is called. */
  synchronized CompletableFuture<Map<Integer, Long>> next() {
    CompletableFuture<Map<Integer, Long>> next = waiting;
    if (next == null) {
      next = new CompletableFuture<>();
      waiting = next;
    }
    start();
    return next;
  }

  @SuppressWarnings("FutureReturnValueIgnored") // those who asked get the failure
  private synchronized void start() {
    CompletableFuture<Map<Integer, Long>> next = waiting;
    if (running || next == null) {
      return;
    }
    running = true;
    waiting = null;
    request
        .get()
        .whenComplete(
            (current, failure) -> {
              ended();
              if (failure == null) {
                next.complete(current);
              } else {
                next.completeExceptionally(failure);
              }
            });
  }

  private synchronized void ended() {
    running = false;
    start();
  }
}
