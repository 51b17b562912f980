package io.fermata.session.host;

import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;

/** Work that costs memory or time of the host: so much at once, and what is more is refused. */
public final class BoundedWork {
  private final Semaphore permits;

  public BoundedWork(int atOnce) {
    this.permits = new Semaphore(atOnce);
  }

  /** Begins work, or fails as {@code overloaded}. */
  <T> CompletionStage<T> begin(Supplier<CompletionStage<T>> work) {
    return begin(
        work,
        () ->
            CompletableFuture.failedFuture(
                new ThreadException(
                    HostError.OVERLOADED.wireName(), HostError.OVERLOADED.failure().message())));
  }

  /** Begins work, or does instead what refuses it. */
  public <T> CompletionStage<T> begin(
      Supplier<CompletionStage<T>> work, Supplier<CompletionStage<T>> refused) {
    if (!permits.tryAcquire()) {
      return refused.get();
    }
    try {
      return work.get().whenComplete((done, thrown) -> permits.release());
    } catch (RuntimeException e) {
      permits.release();
      throw e;
    }
  }
}
