package io.fermata.session;

import io.fermata.persistence.keyvalue.KvStore;
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
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A key-value store in memory, which several hosts can share and which can be out of order. */
final class LocalKvStore implements KvStore {
  private final Map<String, Versioned> values = new HashMap<>();
  private final List<String> requests = new ArrayList<>();
  private boolean down;
  private boolean full;

  synchronized void down(boolean now) {
    down = now;
  }

  /** Whether it accepts no values any more. */
  synchronized void full(boolean now) {
    full = now;
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
  public CompletionStage<Optional<Versioned>> get(String key) {
    return answer("get " + key, () -> Optional.ofNullable(values.get(key)));
  }

  @Override
  public CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    return answer(
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
