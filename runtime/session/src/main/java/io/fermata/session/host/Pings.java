package io.fermata.session.host;

import io.fermata.persistence.pekko.StoreTroubles;
import io.fermata.persistence.spi.StoreProblem;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks whether a store can be written, with one ping at a time, as each is a write. Concurrent
 * requests share its result, as do those within a moment after it, and none waits longer than the
 * timeout.
 */
final class Pings {
  /** After how many timeouts a ping is considered lost and another one is sent. */
  private static final int LOST = 15;

  private static final Logger LOG = LoggerFactory.getLogger(Pings.class);

  private final Supplier<CompletionStage<?>> ping;
  private final long timeout;
  private final long valid;
  private final LongSupplier nanos;
  private @Nullable CompletableFuture<Optional<StoreProblem>> last;
  private boolean running;
  private long ended;
  private volatile Optional<StoreProblem> logged = Optional.empty();

  /**
   * @param timeout how long a ping may take
   * @param valid how long its result is used
   * @param nanos the time, in nanoseconds; it never goes back
   */
  Pings(Supplier<CompletionStage<?>> ping, Duration timeout, Duration valid, LongSupplier nanos) {
    this.ping = ping;
    this.timeout = timeout.toMillis();
    this.valid = valid.toNanos();
    this.nanos = nanos;
  }

  /** Why the store cannot be written; empty if it can. The stage never fails. */
  CompletionStage<Optional<StoreProblem>> problem() {
    CompletableFuture<Optional<StoreProblem>> asked;
    CompletableFuture<Optional<StoreProblem>> answer;
    synchronized (this) {
      if (last != null && (running || nanos.getAsLong() - ended < valid)) {
        return last.copy();
      }
      asked = new CompletableFuture<>();
      answer = silentAfter(asked.copy(), timeout);
      last = answer;
      running = true;
    }
    CompletionStage<Optional<StoreProblem>> end = silentAfter(asked, LOST * timeout);
    end.whenComplete((problem, never) -> over());
    begun().whenComplete((done, thrown) -> asked.complete(problem(thrown)));
    return answer.copy();
  }

  /** A failure and its end are logged once; its text may not be shown to everybody. */
  private Optional<StoreProblem> problem(@Nullable Throwable thrown) {
    Optional<StoreProblem> found = Optional.ofNullable(thrown).map(StoreProblem::of);
    if (!found.equals(logged)) {
      if (thrown == null) {
        LOG.warn("The store can be written again");
      } else {
        StoreTroubles.warn(LOG, "The store cannot be written, so this host is not ready", thrown);
      }
    }
    logged = found;
    return found;
  }

  private static CompletableFuture<Optional<StoreProblem>> silentAfter(
      CompletableFuture<Optional<StoreProblem>> asked, long millis) {
    return asked.completeOnTimeout(Optional.of(StoreProblem.AWAY), millis, TimeUnit.MILLISECONDS);
  }

  private CompletionStage<?> begun() {
    try {
      return ping.get();
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private synchronized void over() {
    running = false;
    ended = nanos.getAsLong();
  }
}
