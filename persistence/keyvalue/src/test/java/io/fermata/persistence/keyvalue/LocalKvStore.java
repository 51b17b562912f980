package io.fermata.persistence.keyvalue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A key-value store in memory, which several hosts can share and which can be out of order. */
final class LocalKvStore implements KvStore {
  private final Map<String, Versioned> values = new HashMap<>();
  private final List<String> requests = new ArrayList<>();
  private boolean down;
  private boolean full;
  private Duration reading = Duration.ZERO;
  private Duration writing = Duration.ZERO;

  synchronized void down(boolean now) {
    down = now;
  }

  /** Whether it accepts no values any more. */
  synchronized void full(boolean now) {
    full = now;
  }

  /** How long it takes to return what it has read. */
  synchronized void readsIn(Duration duration) {
    reading = duration;
  }

  /** How long it takes to confirm what it has written. */
  synchronized void writesIn(Duration duration) {
    writing = duration;
  }

  synchronized boolean knows(String part) {
    return values.keySet().stream().anyMatch(key -> key.contains(part));
  }

  /** Alters the last byte of values, without a new version. */
  synchronized void damage(String part) {
    values.replaceAll(
        (key, there) -> {
          if (!key.contains(part)) {
            return there;
          }
          byte[] altered = there.value().clone();
          altered[altered.length - 1] ^= 1;
          return new Versioned(altered, there.version());
        });
  }

  /** What was requested, as "get key". */
  synchronized List<String> requests() {
    return List.copyOf(requests);
  }

  @Override
  public synchronized CompletionStage<Optional<Versioned>> get(String key) {
    return later(answer("get " + key, () -> Optional.ofNullable(values.get(key))), reading);
  }

  @Override
  public synchronized CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    CompletionStage<Optional<String>> set =
        answer(
            "set " + key,
            () -> {
              if (full) {
                throw new IllegalStateException(
                    "OOM command not allowed when used memory > 'maxmemory'");
              }
              Versioned there = values.get(key);
              if (!Objects.equals(there == null ? null : there.version(), expectedVersion)) {
                return Optional.empty();
              }
              String version = UUID.randomUUID().toString();
              values.put(key, new Versioned(value, version));
              return Optional.of(version);
            });
    return later(set, writing);
  }

  private static <T> CompletionStage<T> later(CompletionStage<T> done, Duration duration) {
    return duration.isZero()
        ? done
        : done.thenApplyAsync(
            result -> result,
            CompletableFuture.delayedExecutor(duration.toMillis(), TimeUnit.MILLISECONDS));
  }

  @Override
  public CompletionStage<@Nullable Void> delete(String key) {
    return answer(
        "delete " + key,
        () -> {
          values.remove(key);
          return null;
        });
  }

  private synchronized <T extends @Nullable Object> CompletionStage<T> answer(
      String request, Supplier<T> work) {
    requests.add(request);
    return down
        ? CompletableFuture.failedFuture(new IllegalStateException("out of order"))
        : CompletableFuture.completedFuture(work.get());
  }
}
