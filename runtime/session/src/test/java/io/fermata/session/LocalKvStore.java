package io.fermata.session;

import io.fermata.persistence.keyvalue.KvStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A key-value store in memory, which several hosts can share and which can be out of order. */
final class LocalKvStore implements KvStore {
  private final Map<String, Versioned> values = new HashMap<>();
  private final List<String> requests = new ArrayList<>();
  private boolean down;
  private Iterator<Optional<Fault>> faults = Collections.emptyIterator();

  /** How a write fails. */
  enum Fault {
    /** Nothing is written. */
    REFUSED,
    /** It is written, but its reply is lost. */
    REPLY_LOST
  }

  private boolean full;

  synchronized void down(boolean now) {
    down = now;
  }

  /** Lets the next write of a journal fail. */
  synchronized void failNext(Fault fault) {
    faults = List.of(Optional.of(fault)).iterator();
  }

  /** Lets a share of the writes of journals fail from now on. */
  synchronized void failAtRandom(Random random, double share) {
    faults =
        Stream.generate(
                () ->
                    random.nextDouble() < share
                        ? Optional.of(Fault.values()[random.nextInt(Fault.values().length)])
                        : Optional.<Fault>empty())
            .iterator();
  }

  /** Whether it accepts no values any more. */
  synchronized void full(boolean now) {
    full = now;
  }

  synchronized boolean knows(String part) {
    return values.keySet().stream().anyMatch(key -> key.contains(part));
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
    return write(
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

  private synchronized <T> CompletionStage<T> write(String request, Supplier<T> work) {
    boolean journal = request.contains("journal:");
    Optional<Fault> fault = journal && faults.hasNext() ? faults.next() : Optional.empty();
    if (fault.isEmpty()) {
      return answer(request, work);
    }
    IllegalStateException failure = new IllegalStateException(fault.get().name());
    return fault.get() == Fault.REPLY_LOST
        ? answer(request, work).thenCompose(lost -> CompletableFuture.failedFuture(failure))
        : CompletableFuture.failedFuture(failure);
  }

  private synchronized <T extends @Nullable Object> CompletionStage<T> answer(
      String request, Supplier<T> work) {
    requests.add(request);
    return down
        ? CompletableFuture.failedFuture(new IllegalStateException("out of order"))
        : CompletableFuture.completedFuture(work.get());
  }
}
