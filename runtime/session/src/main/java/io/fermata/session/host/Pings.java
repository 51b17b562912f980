package io.fermata.session.host;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks a store whether it answers: once at a time, however many want to know. Whoever comes
 * meanwhile shares the answer, and nobody waits for one that does not come.
 */
final class Pings {
  /** Of how many times the patience a ping may be lost, before another one is tried. */
  private static final int LOST = 15;

  private final Supplier<CompletionStage<?>> ping;
  private final long patience;
  private @Nullable CompletableFuture<Boolean> underWay;

  /**
   * @param patience how long a store may be silent that answers
   */
  Pings(Supplier<CompletionStage<?>> ping, Duration patience) {
    this.ping = ping;
    this.patience = patience.toMillis();
  }

  /** Whether the store answers. The stage never fails. */
  CompletionStage<Boolean> answers() {
    CompletableFuture<Boolean> asked;
    CompletableFuture<Boolean> told;
    synchronized (this) {
      if (underWay != null) {
        return underWay.copy();
      }
      asked = new CompletableFuture<>();
      told = asked.copy().completeOnTimeout(false, patience, TimeUnit.MILLISECONDS);
      underWay = told;
    }
    CompletionStage<Boolean> ended =
        asked.completeOnTimeout(false, LOST * patience, TimeUnit.MILLISECONDS);
    ended.whenComplete((answered, never) -> over());
    begun().whenComplete((answered, thrown) -> asked.complete(thrown == null));
    return told.copy();
  }

  private CompletionStage<?> begun() {
    try {
      return ping.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private synchronized void over() {
    underWay = null;
  }
}
