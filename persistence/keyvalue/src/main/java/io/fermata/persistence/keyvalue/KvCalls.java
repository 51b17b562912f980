package io.fermata.persistence.keyvalue;

import io.fermata.persistence.keyvalue.KvStore.Versioned;
import io.fermata.persistence.spi.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a key-value store: only so many at once, none for longer than its time, and a
 * failure that says what to do.
 */
final class KvCalls {

  static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final int AT_ONCE = 64;
  private static final String PREFIX = "fermata:";

  private enum State {
    WAITING,
    UNDER_WAY,
    OVER
  }

  private final KvStore store;
  private final Duration patience;
  private final Executor executor;
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int underWay;

  KvCalls(KvStore store, Duration patience, Executor executor) {
    this.store = store;
    this.executor = executor;
    this.patience = patience;
  }

  String name() {
    return store.describe();
  }

  CompletionStage<Optional<Versioned>> get(String key) {
    return call(() -> store.get(PREFIX + key), "be read");
  }

  CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    return call(() -> store.set(PREFIX + key, value, expectedVersion, timeToLive), "be written");
  }

  CompletionStage<@Nullable Void> delete(String key) {
    return call(() -> store.delete(PREFIX + key), "be written");
  }

  private <T extends @Nullable Object> CompletionStage<T> call(
      Supplier<CompletionStage<T>> request, String what) {
    CompletableFuture<T> answer =
        new CompletableFuture<T>().orTimeout(patience.toMillis(), TimeUnit.MILLISECONDS);
    AtomicReference<State> state = new AtomicReference<>(State.WAITING);
    enter(
        () -> {
          if (state.compareAndSet(State.WAITING, State.UNDER_WAY)) {
            begin(request, answer);
          } else {
            leave();
          }
        });
    return answer.handle(
        (done, thrown) -> {
          if (state.getAndSet(State.OVER) == State.UNDER_WAY) {
            leave();
          }
          if (thrown != null) {
            throw failure(thrown, what);
          }
          return done;
        });
  }

  private static <T extends @Nullable Object> void begin(
      Supplier<CompletionStage<T>> request, CompletableFuture<T> answer) {
    try {
      request
          .get()
          .whenComplete(
              (done, thrown) -> {
                if (thrown != null) {
                  answer.completeExceptionally(thrown);
                } else {
                  answer.complete(done);
                }
              });
    } catch (RuntimeException refused) {
      answer.completeExceptionally(refused);
    }
  }

  private void enter(Runnable call) {
    synchronized (waiting) {
      if (underWay >= AT_ONCE) {
        waiting.add(call);
        return;
      }
      underWay++;
    }
    call.run();
  }

  private void leave() {
    Runnable next;
    synchronized (waiting) {
      next = waiting.poll();
      if (next == null) {
        underWay--;
        return;
      }
    }
    executor.execute(next);
  }

  private StoreException failure(Throwable thrown, String what) {
    Throwable cause =
        thrown instanceof CompletionException && thrown.getCause() != null
            ? thrown.getCause()
            : thrown;
    if (cause instanceof StoreException known) {
      return known;
    }
    String why =
        cause instanceof TimeoutException
            ? "it did not answer within " + patience.toMillis() + " ms"
            : String.valueOf(cause.getMessage());
    return new StoreException(
        name()
            + " could not "
            + what
            + ": "
            + why
            + "; see that it can be reached and try again, what was not acknowledged may be"
            + " missing",
        cause);
  }
}
