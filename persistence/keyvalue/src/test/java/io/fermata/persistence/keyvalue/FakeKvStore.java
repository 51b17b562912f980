package io.fermata.persistence.keyvalue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A key-value store in memory that can be made to misbehave. */
final class FakeKvStore implements KvStore {

  /** What becomes of a call. */
  enum Mood {
    WELL,
    /** Every call fails, and nothing is done. */
    DOWN,
    /** Every answer takes a while. */
    SLOW,
    /** What is there can be read, and nothing written. */
    READ_ONLY,
    /** What is written is written, and the answer is lost. */
    FORGETFUL,
    /** No call is ever answered. */
    SILENT
  }

  /**
   * When a value expires.
   *
   * @param since when it was written
   */
  private record Expiry(Duration timeToLive, long since) {
    boolean isOver() {
      return System.nanoTime() - since >= timeToLive.toNanos();
    }
  }

  private final boolean compares;
  private final Map<String, Versioned> values = new ConcurrentHashMap<>();
  private final Map<String, Expiry> expiries = new ConcurrentHashMap<>();
  private final List<String> written = new CopyOnWriteArrayList<>();
  private final AtomicInteger calls = new AtomicInteger();
  private volatile Mood mood = Mood.WELL;
  private volatile boolean lists;
  private volatile CompletableFuture<@Nullable Void> writes =
      CompletableFuture.completedFuture(null);

  FakeKvStore() {
    this(true);
  }

  FakeKvStore(boolean compares) {
    this.compares = compares;
  }

  @Override
  public boolean compares() {
    return compares;
  }

  /** From now on its keys can be listed. */
  void list() {
    lists = true;
  }

  void mood(Mood now) {
    mood = now;
  }

  /** Writes that begin from now on wait. */
  void holdWrites() {
    writes = new CompletableFuture<>();
  }

  void releaseWrites() {
    writes.complete(null);
  }

  /** The keys in the order in which they were written. */
  List<String> written() {
    return new ArrayList<>(written);
  }

  int calls() {
    return calls.get();
  }

  @Nullable Duration expiry(String key) {
    Expiry expiry = expiries.get(key);
    return expiry == null ? null : expiry.timeToLive();
  }

  Optional<Versioned> value(String key) {
    Expiry expiry = expiries.get(key);
    return expiry != null && expiry.isOver()
        ? Optional.empty()
        : Optional.ofNullable(values.get(key));
  }

  /** Writes as somebody else would. */
  void put(String key, byte[] value) {
    values.put(key, new Versioned(value, UUID.randomUUID().toString()));
  }

  @Override
  public CompletionStage<Optional<Versioned>> get(String key) {
    return answer(() -> value(key));
  }

  @Override
  public CompletionStage<Optional<String>> set(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    if (mood == Mood.READ_ONLY) {
      return CompletableFuture.failedFuture(new IllegalStateException("a replica is not written"));
    }
    return writes.thenCompose(
        come -> answer(() -> compareAndSet(key, value, expectedVersion, timeToLive)));
  }

  private synchronized Optional<String> compareAndSet(
      String key, byte[] value, @Nullable String expectedVersion, @Nullable Duration timeToLive) {
    String there = value(key).map(Versioned::version).orElse(null);
    if (compares && !Objects.equals(there, expectedVersion)) {
      return Optional.empty();
    }
    put(key, value.clone());
    written.add(key);
    if (timeToLive == null) {
      expiries.remove(key);
    } else {
      expiries.put(key, new Expiry(timeToLive, System.nanoTime()));
    }
    return value(key).map(Versioned::version);
  }

  @Override
  public CompletionStage<@Nullable Void> delete(String key) {
    return answer(
        () -> {
          values.remove(key);
          return null;
        });
  }

  /** Two at a time, and the last of a portion again in the next, as Redis may. */
  @Override
  public CompletionStage<Optional<KeyPage>> keys(String prefix, String after) {
    return lists
        ? answer(() -> Optional.of(page(prefix, after)))
        : KvStore.super.keys(prefix, after);
  }

  private KeyPage page(String prefix, String after) {
    List<String> left =
        values.keySet().stream()
            .filter(key -> key.startsWith(prefix) && key.compareTo(after) >= 0)
            .filter(key -> value(key).isPresent())
            .sorted()
            .toList();
    boolean last = left.size() <= 2;
    return new KeyPage(left.subList(0, last ? left.size() : 2), last ? "" : left.get(1));
  }

  private <T extends @Nullable Object> CompletionStage<T> answer(Supplier<T> work) {
    calls.incrementAndGet();
    Function<String, CompletionStage<T>> failed =
        why -> CompletableFuture.failedFuture(new IllegalStateException(why));
    return switch (mood) {
      case WELL, READ_ONLY -> CompletableFuture.completedFuture(work.get());
      case SLOW ->
          CompletableFuture.supplyAsync(
              work, CompletableFuture.delayedExecutor(200, TimeUnit.MILLISECONDS));
      case DOWN -> failed.apply("nobody answers");
      case SILENT -> new CompletableFuture<>();
      case FORGETFUL -> {
        T lost = work.get();
        yield failed.apply("the line broke before " + lost);
      }
    };
  }

  @Override
  public String describe() {
    return "fake";
  }
}
