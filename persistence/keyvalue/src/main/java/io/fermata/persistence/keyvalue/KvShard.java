package io.fermata.persistence.keyvalue;

import io.fermata.persistence.spi.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A shard of the index in one value: the marks of journals that need attention.
 *
 * <p>A mark is written before the journal that needs it and removed some time after, so a journal
 * that needs one always has it. A mark may be stale: its reader checks the journal. Many changes go
 * into one write.
 */
final class KvShard {

  /** The mark of a journal is removed after this time without demand; a busy one keeps it. */
  static final Duration RESTS = Duration.ofSeconds(10);

  /** After this time a host renews its mark before it relies on it. */
  static final Duration FRESH = Duration.ofMinutes(10);

  /** After this time any host may remove the mark of another. */
  static final Duration ABANDONED = Duration.ofMinutes(30);

  private static final int TRIES = 20;

  /** The known demand of a journal, and since when. */
  private record KnownDemand(long demand, long since) {}

  private final String key;
  private final KvCalls kv;
  private final Executor executor;
  private final String host;
  private final InstantSource clock;
  private final Map<String, KnownDemand> demands = new HashMap<>();
  private Map<String, KvMark> marks = Map.of();
  private @Nullable String version;
  private Map<String, Long> wanted = new HashMap<>();
  private List<CompletableFuture<@Nullable Void>> waiting = new ArrayList<>();
  private boolean flushing;

  KvShard(String key, KvCalls kv, Executor executor, String host, InstantSource clock) {
    this.key = key;
    this.kv = kv;
    this.executor = executor;
    this.host = host;
    this.clock = clock;
  }

  CompletionStage<@Nullable Void> load() {
    return kv.get(key)
        .thenAcceptAsync(
            found -> {
              Map<String, KvMark> read =
                  found.map(value -> KvFormat.marks(key, value.value())).orElseGet(HashMap::new);
              synchronized (this) {
                marks = read;
                version = found.map(KvStore.Versioned::version).orElse(null);
              }
            },
            executor);
  }

  /** Completes when a journal with this demand is certain to be found. */
  synchronized CompletionStage<@Nullable Void> require(String persistenceId, long demand) {
    long now = clock.millis();
    KnownDemand before = demands.get(persistenceId);
    long earliest = before == null ? demand : Math.min(before.demand(), demand);
    demands.put(persistenceId, new KnownDemand(earliest, now));
    KvMark mark = marks.get(persistenceId);
    if (mark != null && mark.at() <= demand && mine(mark) && !older(mark.since(), FRESH, now)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable Void> marked = new CompletableFuture<>();
    wanted.merge(persistenceId, demand, Math::min);
    waiting.add(marked);
    flushSoon();
    return marked;
  }

  /** Reports the demand of the stored journal. */
  synchronized void settled(String persistenceId, long demand) {
    if (marks.containsKey(persistenceId) || wanted.containsKey(persistenceId)) {
      KnownDemand before = demands.get(persistenceId);
      if (before == null || before.demand() != demand) {
        demands.put(persistenceId, new KnownDemand(demand, clock.millis()));
      }
    } else {
      demands.remove(persistenceId);
    }
  }

  /** The stored demand is unknown, as a write failed. */
  synchronized void doubted(String persistenceId) {
    demands.remove(persistenceId);
  }

  /** The journals with a mark up to a time, and their demands; null where unknown. */
  synchronized Map<String, @Nullable Long> until(long at) {
    Map<String, @Nullable Long> found = new HashMap<>();
    marks.forEach(
        (persistenceId, mark) -> {
          if (mark.at() <= at) {
            KnownDemand known = demands.get(persistenceId);
            found.put(persistenceId, known == null ? null : known.demand());
          }
        });
    return found;
  }

  /** Removes stale marks, if there are any. */
  synchronized CompletionStage<@Nullable Void> clean(boolean closing) {
    if (flushing || corrected(closing).equals(marks)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable Void> cleaned = new CompletableFuture<>();
    waiting.add(cleaned);
    flushing = true;
    flush(TRIES, closing);
    return cleaned;
  }

  private void flushSoon() {
    if (!flushing) {
      flushing = true;
      executor.execute(() -> flush(TRIES, false));
    }
  }

  private void flush(int tries, boolean closing) {
    Map<String, KvMark> next;
    Map<String, Long> taken;
    List<CompletableFuture<@Nullable Void>> served;
    String expected;
    synchronized (this) {
      next = corrected(closing);
      taken = wanted;
      served = waiting;
      expected = version;
      wanted = new HashMap<>();
      waiting = new ArrayList<>();
      long now = clock.millis();
      taken.forEach((id, at) -> next.put(id, new KvMark(earliest(next.get(id), at), host, now)));
    }
    kv.set(key, KvFormat.marks(next), expected, null)
        .whenCompleteAsync(
            (won, thrown) -> {
              if (thrown == null && won.isPresent()) {
                written(next, won.get());
                served.forEach(marked -> marked.complete(null));
                goOn();
              } else if (thrown == null && tries > 1) {
                again(taken, served, tries - 1, closing);
              } else {
                fail(served, thrown == null ? contended() : thrown);
              }
            },
            executor);
  }

  /** Another host wrote meanwhile; its changes stay. */
  private void again(
      Map<String, Long> taken,
      List<CompletableFuture<@Nullable Void>> served,
      int tries,
      boolean closing) {
    load()
        .whenCompleteAsync(
            (loaded, thrown) -> {
              if (thrown != null) {
                fail(served, thrown);
                return;
              }
              synchronized (this) {
                taken.forEach((id, at) -> wanted.merge(id, at, Math::min));
                waiting.addAll(served);
              }
              flush(tries, closing);
            },
            executor);
  }

  /** It is unknown whether the write succeeded, so the index is read again before the next. */
  private void fail(List<CompletableFuture<@Nullable Void>> served, Throwable thrown) {
    served.forEach(marked -> marked.completeExceptionally(thrown));
    load().whenCompleteAsync((loaded, again) -> goOn(), executor);
  }

  private StoreException contended() {
    return new StoreException(
        kv.name()
            + " refused to write "
            + key
            + " "
            + TRIES
            + " times because others wrote it; check how many hosts share the store");
  }

  private synchronized void written(Map<String, KvMark> next, String now) {
    marks = next;
    version = now;
    demands
        .entrySet()
        .removeIf(
            known ->
                known.getValue().demand() == KvDocument.NOTHING
                    && !next.containsKey(known.getKey()));
  }

  private synchronized void goOn() {
    flushing = false;
    if (!waiting.isEmpty()) {
      flushSoon();
    }
  }

  /** The marks, corrected where this host knows better and may do so. */
  private Map<String, KvMark> corrected(boolean closing) {
    long now = clock.millis();
    Map<String, KvMark> corrected = new HashMap<>(marks);
    demands.forEach(
        (persistenceId, known) -> {
          KvMark mark = marks.get(persistenceId);
          boolean rests = closing || older(known.since(), RESTS, now);
          if (mark == null || !rests || !mayCorrect(mark, now)) {
            return;
          }
          if (known.demand() == KvDocument.NOTHING) {
            corrected.remove(persistenceId);
          } else if (known.demand() > mark.at()) {
            corrected.put(persistenceId, new KvMark(known.demand(), mark.host(), mark.since()));
          }
        });
    return corrected;
  }

  private boolean mayCorrect(KvMark mark, long now) {
    return mine(mark) || older(mark.since(), ABANDONED, now);
  }

  private boolean mine(KvMark mark) {
    return mark.host().equals(host);
  }

  private static boolean older(long since, Duration age, long now) {
    return now - since >= age.toMillis();
  }

  private static long earliest(@Nullable KvMark mark, long at) {
    return mark == null ? at : Math.min(mark.at(), at);
  }
}
