package io.fermata.persistence.keyvalue;

import io.fermata.persistence.spi.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A shard of the index in one value: the marks of journals that need attention.
 *
 * <p>A mark is written before the journal that needs it soon, and some time after one that needs it
 * later; it is removed some time after the need for it. A mark may be stale: its reader checks the
 * journal. Many changes go into one write.
 */
final class KvShard {

  /** How often marks are corrected; a mark without demand stays this long. */
  static final Duration RESTS = Duration.ofSeconds(10);

  /** A demand that is farther ahead need not be marked before the journal is written. */
  static final Duration SOON = Duration.ofDays(1);

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

  /** Completes when a journal with this demand is certain to be found, unless that has time. */
  synchronized CompletionStage<@Nullable Void> require(String persistenceId, long demand) {
    long now = clock.millis();
    if (!isSoon(demand, now) || covers(marks.get(persistenceId), demand, now)) {
      return CompletableFuture.completedFuture(null);
    }
    demands.merge(
        persistenceId, new KnownDemand(demand, now), (old, next) -> earlier(old, next, now));
    CompletableFuture<@Nullable Void> marked = new CompletableFuture<>();
    wanted.merge(persistenceId, demand, Math::min);
    waiting.add(marked);
    if (!flushing) {
      flushing = true;
      executor.execute(() -> flush(TRIES, false));
    }
    return marked;
  }

  private static KnownDemand earlier(KnownDemand old, KnownDemand next, long now) {
    return new KnownDemand(Math.min(old.demand(), next.demand()), now);
  }

  /** Reports the demand of the stored journal. */
  synchronized void settled(String persistenceId, long demand) {
    boolean marked = marks.containsKey(persistenceId) || wanted.containsKey(persistenceId);
    if (demand == KvDocument.NOTHING && !marked) {
      demands.remove(persistenceId);
      return;
    }
    KnownDemand before = demands.get(persistenceId);
    if (before == null || before.demand() != demand) {
      demands.put(persistenceId, new KnownDemand(demand, clock.millis()));
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

  /** Writes marks that are missing and removes stale ones, if it is time for any. */
  synchronized CompletionStage<@Nullable Void> clean(boolean closing) {
    if (flushing || !needsWrite(closing)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable Void> cleaned = new CompletableFuture<>();
    waiting.add(cleaned);
    flushing = true;
    flush(TRIES, closing);
    return cleaned;
  }

  /** A mark of a time far ahead that is not needed any more waits for another write. */
  private boolean needsWrite(boolean closing) {
    long now = clock.millis();
    Map<String, KvMark> corrected = corrected(closing, now);
    return closing
        ? !corrected.equals(marks)
        : corrected.entrySet().stream()
                .anyMatch(mark -> !mark.getValue().equals(marks.get(mark.getKey())))
            || marks.entrySet().stream()
                .anyMatch(
                    mark ->
                        isSoon(mark.getValue().at(), now) && !corrected.containsKey(mark.getKey()));
  }

  private void flush(int tries, boolean closing) {
    Map<String, KvMark> next;
    Map<String, Long> taken;
    List<CompletableFuture<@Nullable Void>> served;
    String expected;
    synchronized (this) {
      long now = clock.millis();
      next = corrected(closing, now);
      taken = wanted;
      served = waiting;
      expected = version;
      wanted = new HashMap<>();
      waiting = new ArrayList<>();
      taken.forEach((id, at) -> next.put(id, mark(next.get(id), at, now)));
    }
    kv.set(key, KvFormat.marks(next), expected, null, false)
        .thenComposeAsync(won -> written(next, won), executor)
        .whenCompleteAsync(
            (done, thrown) -> {
              if (thrown != null) {
                // Whether the write succeeded is unknown, so the index is read before the next.
                load().whenCompleteAsync((loaded, again) -> ended(served, thrown), executor);
              } else if (done) {
                ended(served, null);
              } else if (tries > 1) {
                putBack(taken, served);
                flush(tries - 1, closing);
              } else {
                ended(served, contended());
              }
            },
            executor);
  }

  /** If another host wrote meanwhile, its changes stay. */
  private CompletionStage<Boolean> written(Map<String, KvMark> next, Optional<String> won) {
    if (won.isEmpty()) {
      return load().thenApply(loaded -> false);
    }
    synchronized (this) {
      marks = next;
      version = won.get();
      demands
          .entrySet()
          .removeIf(
              known ->
                  known.getValue().demand() == KvDocument.NOTHING
                      && !next.containsKey(known.getKey()));
    }
    return CompletableFuture.completedFuture(true);
  }

  private synchronized void putBack(
      Map<String, Long> taken, List<CompletableFuture<@Nullable Void>> served) {
    taken.forEach((id, at) -> wanted.merge(id, at, Math::min));
    waiting.addAll(served);
  }

  private void ended(List<CompletableFuture<@Nullable Void>> served, @Nullable Throwable failure) {
    for (CompletableFuture<@Nullable Void> marked : served) {
      if (failure == null) {
        marked.complete(null);
      } else {
        marked.completeExceptionally(failure);
      }
    }
    synchronized (this) {
      flushing = !waiting.isEmpty();
      if (flushing) {
        executor.execute(() -> flush(TRIES, false));
      }
    }
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

  /** The marks, corrected where this host knows better and may do so. */
  private Map<String, KvMark> corrected(boolean closing, long now) {
    Map<String, KvMark> corrected = new HashMap<>(marks);
    demands.forEach(
        (persistenceId, known) -> {
          KvMark mark = marks.get(persistenceId);
          boolean stale =
              mark != null
                  && known.demand() > mark.at()
                  && isSoon(mark.at(), now)
                  && (closing || now - known.since() >= RESTS.toMillis())
                  && (mine(mark) || now - mark.since() >= ABANDONED.toMillis());
          if (known.demand() == KvDocument.NOTHING) {
            boolean unneeded = mark != null && (stale || (mine(mark) && !isSoon(mark.at(), now)));
            if (unneeded) {
              corrected.remove(persistenceId);
            }
          } else if (mark != null && stale) {
            corrected.put(persistenceId, new KvMark(known.demand(), mark.host(), mark.since()));
          } else if (!covers(mark, known.demand(), known.since())) {
            corrected.put(persistenceId, mark(mark, known.demand(), now));
          }
        });
    return corrected;
  }

  /** A mark that was just written, of the earlier time. */
  private KvMark mark(@Nullable KvMark before, long at, long now) {
    return new KvMark(before == null ? at : Math.min(before.at(), at), host, now);
  }

  /** Whether a journal that has this demand since then is certain to be found by a mark. */
  private boolean covers(@Nullable KvMark mark, long demand, long since) {
    return mark != null
        && mark.at() <= demand
        && mine(mark)
        && since - mark.since() < FRESH.toMillis();
  }

  private boolean mine(KvMark mark) {
    return mark.host().equals(host);
  }

  private static boolean isSoon(long at, long now) {
    return at - now < SOON.toMillis();
  }
}
