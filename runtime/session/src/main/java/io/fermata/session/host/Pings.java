package io.fermata.session.host;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Checks whether a store responds, with one ping at a time. Concurrent requests share its result,
 * and none waits longer than the timeout.
 */
final class Pings {
  /** After how many timeouts a ping is considered lost and another one is sent. */
  private static final int LOST = 15;

  private final Supplier<CompletionStage<?>> ping;
  private final long timeout;
  private @Nullable CompletableFuture<Boolean> running;

  /**
   * @param timeout how long a ping may take
   */
  Pings(Supplier<CompletionStage<?>> ping, Duration timeout) {
    this.ping = ping;
    this.timeout = timeout.toMillis();
  }

  /** Whether the store responds. The stage never fails. */
  CompletionStage<Boolean> answers() {
    CompletableFuture<Boolean> asked;
    CompletableFuture<Boolean> answer;
    synchronized (this) {
      if (running != null) {
        return running.copy();
      }
      asked = new CompletableFuture<>();
      answer = asked.copy().completeOnTimeout(false, timeout, TimeUnit.MILLISECONDS);
      running = answer;
    }
    CompletionStage<Boolean> ended =
        asked.completeOnTimeout(false, LOST * timeout, TimeUnit.MILLISECONDS);
    ended.whenComplete((answered, never) -> over());
    begun().whenComplete((answered, thrown) -> asked.complete(thrown == null));
    return answer.copy();
  }

  private CompletionStage<?> begun() {
    try {
      return ping.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private synchronized void over() {
    running = null;
  }
}
