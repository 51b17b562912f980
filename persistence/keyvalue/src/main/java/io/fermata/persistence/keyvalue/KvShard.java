package io.fermata.persistence.keyvalue;

import io.fermata.persistence.spi.StoreException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
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

  /** What a host learned this long after a mark was written outweighs the mark of another host. */
  static final Duration ABANDONED = Duration.ofMinutes(30);

  private static final int TRIES = 20;

  /** The known demand of a journal, and since when. */
  private record KnownDemand(long demand, Now since) {}

  /**
   * A moment.
   *
   * @param millis by the wall clock, which demands and other hosts name, and which runs on while
   *     the machine sleeps
   * @param nanos by the monotonic clock, which nobody sets
   */
  private record Now(long millis, long nanos) {
    boolean hasRestedSince(Now then) {
      return nanos - then.nanos >= RESTS.toNanos();
    }

    /** Whether it is soon enough after the renewal of a mark by both clocks, or before it. */
    boolean isFresh(Now renewed) {
      long past = nanos - renewed.nanos;
      long set = millis - renewed.millis;
      return past < 0 || (past < FRESH.toNanos() && set >= 0 && set < FRESH.toMillis());
    }
  }

  /**
   * What is to be written, the marks in it that are renewed thereby, and what is known of journals
   * although another host marked them for an earlier time.
   */
  private static final class Draft {
    final Map<String, KvMark> marks;
    final Set<String> renewed = new HashSet<>();
    final Map<String, KnownDemand> doubted = new HashMap<>();

    Draft(Map<String, KvMark> marks) {
      this.marks = new HashMap<>(marks);
    }
  }

  private final String key;
  private final KvCalls kv;
  private final Executor executor;
  private final String host;
  private final InstantSource clock;
  private final LongSupplier nanos;
  private final Map<String, KnownDemand> demands = new HashMap<>();

  /** When this host last renewed its marks. */
  private final Map<String, Now> renewals = new HashMap<>();

  private Map<String, KvMark> marks = Map.of();

  /** What was sent and may be, or become, the index instead; null if nothing was. */
  private @Nullable Map<String, KvMark> drafted;

  private @Nullable String version;
  private Map<String, Long> wanted = new HashMap<>();
  private List<CompletableFuture<@Nullable Void>> waiting = new ArrayList<>();
  private boolean flushing;

  KvShard(
      String key,
      KvCalls kv,
      Executor executor,
      String host,
      InstantSource clock,
      LongSupplier nanos) {
    this.key = key;
    this.kv = kv;
    this.executor = executor;
    this.host = host;
    this.clock = clock;
    this.nanos = nanos;
  }

  private Now now() {
    return new Now(clock.millis(), nanos.getAsLong());
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
    Now now = now();
    if (!isSoon(demand, now)) {
      return CompletableFuture.completedFuture(null);
    }
    // Before the journal is written: a mark that has no known demand would be removed meanwhile.
    demands.merge(
        persistenceId,
        new KnownDemand(demand, now),
        (old, next) -> new KnownDemand(Math.min(old.demand(), next.demand()), now));
    if (covers(persistenceId, demand, now) && staysMarked(persistenceId, demand)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable Void> marked = new CompletableFuture<>();
    wanted.merge(persistenceId, demand, Math::min);
    waiting.add(marked);
    if (!flushing) {
      flushing = true;
      executor.execute(() -> flush(TRIES, false));
    }
    return marked;
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
      demands.put(persistenceId, new KnownDemand(demand, now()));
    }
  }

  /** The stored demand is unknown, as a write failed. */
  synchronized void doubted(String persistenceId) {
    demands.remove(persistenceId);
  }

  /**
   * A journal with a mark.
   *
   * @param at the time of the mark
   * @param demand null where it is not known
   */
  record Marked(String persistenceId, long at, @Nullable Long demand) {}

  /** The journals with a mark up to a time. */
  synchronized List<Marked> until(long at) {
    List<Marked> found = new ArrayList<>();
    marks.forEach(
        (persistenceId, mark) -> {
          if (mark.at() <= at) {
            KnownDemand known = demands.get(persistenceId);
            found.add(new Marked(persistenceId, mark.at(), known == null ? null : known.demand()));
          }
        });
    return found;
  }

  /** Writes marks that are missing and removes stale ones, if it is time for any. */
  synchronized CompletionStage<@Nullable Void> clean(boolean closing) {
    forgetOutdated();
    if (flushing || !needsWrite(closing)) {
      return CompletableFuture.completedFuture(null);
    }
    CompletableFuture<@Nullable Void> cleaned = new CompletableFuture<>();
    waiting.add(cleaned);
    flushing = true;
    flush(TRIES, closing);
    return cleaned;
  }

  /**
   * Forgets what does not outweigh the earlier mark of another host, once what the store says now
   * would: it is read again.
   */
  private void forgetOutdated() {
    Now now = now();
    demands
        .entrySet()
        .removeIf(
            known -> {
              KvMark mark = marks.get(known.getKey());
              KnownDemand demand = known.getValue();
              return mark != null
                  && mark.at() < demand.demand()
                  && !outweighs(demand.since(), mark)
                  && outweighs(now, mark);
            });
  }

  /** A mark of a time far ahead that is not needed any more waits for another write. */
  private boolean needsWrite(boolean closing) {
    Now now = now();
    Map<String, KvMark> corrected = corrected(closing, now).marks;
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
    Draft next;
    Now now;
    Map<String, Long> taken;
    List<CompletableFuture<@Nullable Void>> served;
    String expected;
    synchronized (this) {
      now = now();
      next = corrected(closing, now);
      taken = wanted;
      served = waiting;
      expected = version;
      wanted = new HashMap<>();
      waiting = new ArrayList<>();
      taken.forEach((id, at) -> renew(next, id, at, now));
      drafted = next.marks;
    }
    kv.set(key, KvFormat.marks(next.marks), expected, null, false)
        .thenComposeAsync(won -> written(next, now, won), executor)
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
  private CompletionStage<Boolean> written(Draft next, Now now, Optional<String> won) {
    if (won.isEmpty()) {
      return load().thenApply(loaded -> false);
    }
    synchronized (this) {
      marks = next.marks;
      drafted = null;
      version = won.get();
      next.renewed.forEach(id -> renewals.put(id, now));
      renewals.keySet().retainAll(marks.keySet());
      next.doubted.forEach(demands::remove);
      demands
          .entrySet()
          .removeIf(
              known ->
                  known.getValue().demand() == KvDocument.NOTHING
                      && !marks.containsKey(known.getKey()));
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
  private Draft corrected(boolean closing, Now now) {
    Draft corrected = new Draft(marks);
    demands.forEach(
        (persistenceId, known) -> {
          KvMark mark = marks.get(persistenceId);
          boolean stale =
              mark != null
                  && known.demand() > mark.at()
                  && isSoon(mark.at(), now)
                  && (closing || now.hasRestedSince(known.since()))
                  && outweighs(known.since(), mark);
          if (known.demand() == KvDocument.NOTHING) {
            boolean unneeded = mark != null && (stale || (mine(mark) && !isSoon(mark.at(), now)));
            if (unneeded) {
              corrected.marks.remove(persistenceId);
            }
          } else if (mark != null && stale) {
            corrected.marks.put(
                persistenceId, new KvMark(known.demand(), mark.host(), mark.since()));
          } else if (!covers(persistenceId, known.demand(), known.since())) {
            renew(corrected, persistenceId, known.demand(), now);
            if (mark != null && !mine(mark) && mark.at() < known.demand()) {
              corrected.doubted.put(persistenceId, known);
            }
          }
        });
    return corrected;
  }

  /** Marks a journal now, with the earlier time. */
  private void renew(Draft draft, String persistenceId, long at, Now now) {
    KvMark before = draft.marks.get(persistenceId);
    long earlier = before == null ? at : Math.min(before.at(), at);
    draft.marks.put(persistenceId, new KvMark(earlier, host, now.millis()));
    draft.renewed.add(persistenceId);
  }

  /** Whether a journal that has this demand since then is certain to be found by a mark. */
  private boolean covers(String persistenceId, long demand, Now since) {
    KvMark mark = marks.get(persistenceId);
    Now renewed = renewals.get(persistenceId);
    return mark != null
        && mark.at() <= demand
        && mine(mark)
        && renewed != null
        && since.isFresh(renewed);
  }

  /** Whether what was sent last leaves a journal a mark for this demand. */
  private boolean staysMarked(String persistenceId, long demand) {
    Map<String, KvMark> sent = drafted;
    KvMark mark = sent == null ? null : sent.get(persistenceId);
    return sent == null || (mark != null && mark.at() <= demand && mine(mark));
  }

  /** Whether what is known since then is of this host, or much newer: hosts share no clock. */
  private boolean outweighs(Now since, KvMark mark) {
    return mine(mark) || since.millis() - mark.since() >= ABANDONED.toMillis();
  }

  private boolean mine(KvMark mark) {
    return mark.host().equals(host);
  }

  private static boolean isSoon(long at, Now now) {
    return at - now.millis() < SOON.toMillis();
  }
}
