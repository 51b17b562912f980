package io.fermata.persistence.keyvalue;

import io.fermata.persistence.keyvalue.KvStore.KeyPage;
import io.fermata.persistence.keyvalue.KvStore.Versioned;
import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a key-value store, with bounded concurrency, a timeout, and errors that name the
 * next step.
 */
final class KvCalls {

  static final Duration TIMEOUT = Duration.ofSeconds(10);

  static final int AT_ONCE = 64;
  private static final String PREFIX = "fermata:";

  /** A failure that says the reason and the next step. */
  static class Refusal extends IOException {
    private static final long serialVersionUID = 1L;

    private final String reason;

    Refusal(String reason) {
      super(reason);
      this.reason = reason;
    }
  }

  /** The value of a key is none that Fermata writes. */
  static final class Foreign extends Refusal {
    private static final long serialVersionUID = 1L;

    Foreign(String reason) {
      super(reason);
    }
  }

  private final KvStore store;
  private final Duration timeout;
  private final Executor executor;
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int running;
  private final AtomicBoolean closed = new AtomicBoolean();

  KvCalls(KvStore store, Duration timeout, Executor executor) {
    this.store = store;
    this.executor = executor;
    this.timeout = timeout;
  }

  String name() {
    return store.describe();
  }

  /** Returns whether it was open. */
  boolean close() {
    return closed.compareAndSet(false, true);
  }

  <T extends @Nullable Object> CompletionStage<T> whileOpen(Supplier<CompletionStage<T>> work) {
    return closed.get() ? CompletableFuture.failedFuture(closed()) : work.get();
  }

  StoreException closed() {
    return new StoreException(name() + " is closed; open the store again");
  }

  CompletionStage<Optional<Versioned>> get(String key) {
    return call(() -> store.get(PREFIX + key), "be read");
  }

  /**
   * Writes a value if the key has the expected version, which is read before if the store does not
   * compare.
   *
   * @param certain whether the version needs no such read
   */
  CompletionStage<Optional<String>> set(
      String key,
      byte[] value,
      @Nullable String expectedVersion,
      @Nullable Duration timeToLive,
      boolean certain) {
    Supplier<CompletionStage<Optional<String>>> write =
        () -> call(() -> store.set(PREFIX + key, value, expectedVersion, timeToLive), "be written");
    return certain || store.compares()
        ? write.get()
        : get(key)
            .thenCompose(
                found ->
                    Objects.equals(found.map(Versioned::version).orElse(null), expectedVersion)
                        ? write.get()
                        : CompletableFuture.completedFuture(Optional.empty()));
  }

  CompletionStage<@Nullable Void> delete(String key) {
    return call(() -> store.delete(PREFIX + key), "be written");
  }

  /** Some of the keys with a prefix; empty if the store cannot list them. */
  CompletionStage<Optional<KeyPage>> keys(String prefix, String after) {
    String whole = PREFIX + prefix;
    return call(() -> store.keys(whole, after), "be listed")
        .thenApply(
            found ->
                found.map(
                    page ->
                        new KeyPage(
                            page.keys().stream()
                                .filter(key -> key.startsWith(whole))
                                .map(key -> key.substring(PREFIX.length()))
                                .toList(),
                            page.next())));
  }

  private <T extends @Nullable Object> CompletionStage<T> call(
      Supplier<CompletionStage<T>> request, String what) {
    CompletableFuture<T> answer =
        new CompletableFuture<T>().orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS);
    enter(() -> begin(request, answer));
    return answer.exceptionally(
        thrown -> {
          throw failure(thrown, what);
        });
  }

  @SuppressWarnings("FutureReturnValueIgnored") // the caller has the answer
  private <T extends @Nullable Object> void begin(
      Supplier<CompletionStage<T>> request, CompletableFuture<T> answer) {
    boolean waitedTooLong = answer.isDone();
    answer.whenComplete((done, thrown) -> leave());
    if (waitedTooLong) {
      return;
    }
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
      if (running >= AT_ONCE) {
        waiting.add(call);
        return;
      }
      running++;
    }
    call.run();
  }

  private void leave() {
    Runnable next;
    synchronized (waiting) {
      next = waiting.poll();
      if (next == null) {
        running--;
        return;
      }
    }
    executor.execute(next);
  }

  private StoreException failure(Throwable thrown, String what) {
    Throwable cause = StoreFailures.of(thrown);
    if (cause instanceof StoreException known) {
      return known;
    }
    return new StoreException(name() + " could not " + what + ": " + reason(cause), cause);
  }

  private String reason(Throwable cause) {
    if (cause instanceof Refusal refusal) {
      return refusal.reason;
    }
    String message = cause.getMessage();
    String why =
        cause instanceof TimeoutException
            ? "it did not respond within " + timeout.toMillis() + " ms"
            : message == null ? cause.getClass().getSimpleName() : message;
    return why + "; check that it can be reached and that its user may write, then retry";
  }
}
