package io.fermata.session.host;

import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.HostError;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Work that costs memory or time of the host: so much at once, and what is more is refused, or
 * waits in its order.
 */
public final class BoundedWork {
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int left;

  /** Whether a thread begins what waits. */
  private boolean beginning;

  public BoundedWork(int atOnce) {
    this.left = atOnce;
  }

  /** Begins work, or fails as {@code overloaded}. */
  <T> CompletionStage<T> begin(Supplier<CompletionStage<T>> work) {
    return begin(
        work,
        () -> CompletableFuture.failedFuture(new ThreadException(HostError.OVERLOADED.failure())));
  }

  /** Begins work, or does instead what refuses it. */
  public <T> CompletionStage<T> begin(
      Supplier<CompletionStage<T>> work, Supplier<CompletionStage<T>> refused) {
    return takes() ? begun(work) : refused.get();
  }

  /** Begins work when its turn comes. */
  <T> CompletionStage<T> enqueue(Supplier<CompletionStage<T>> work) {
    CompletableFuture<Void> turn = new CompletableFuture<>();
    CompletionStage<T> done = turn.thenCompose(come -> begun(work));
    synchronized (waiting) {
      if (!takes()) {
        waiting.add(() -> turn.complete(null));
        return done;
      }
    }
    turn.complete(null);
    return done;
  }

  /** Whether there is room for work, which then has it. */
  private boolean takes() {
    synchronized (waiting) {
      boolean room = left > 0;
      left -= room ? 1 : 0;
      return room;
    }
  }

  private <T> CompletionStage<T> begun(Supplier<CompletionStage<T>> work) {
    try {
      return work.get().whenComplete((done, thrown) -> ended());
    } catch (RuntimeException | Error e) {
      ended();
      throw e;
    }
  }

  private void ended() {
    synchronized (waiting) {
      left++;
      if (beginning) {
        return;
      }
      beginning = true;
    }
    // Work may end at once, so what it makes room for begins here and not within it.
    for (Runnable next = next(); next != null; next = next()) {
      next.run();
    }
  }

  private @Nullable Runnable next() {
    synchronized (waiting) {
      beginning = left > 0 && !waiting.isEmpty();
      left -= beginning ? 1 : 0;
      return beginning ? waiting.poll() : null;
    }
  }
}
