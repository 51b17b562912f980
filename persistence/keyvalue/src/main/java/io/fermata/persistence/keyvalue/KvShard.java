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
 * A part of the index, kept in one value: the marks of the journals that somebody has to look at.
 *
 * <p>The mark is written before the journal that needs it, and taken away some time after, so a
 * journal that needs one always has it. A mark may say too much: who finds one looks at the
 * journal. Many changes go into one write.
 */
final class KvShard {

  /** A journal that rests so long is taken out; one that works often keeps its mark meanwhile. */
  static final Duration RESTS = Duration.ofSeconds(10);

  /** After this time a host writes its mark again before it relies on it. */
  static final Duration FRESH = Duration.ofMinutes(10);

  /** After this time anybody may take away the mark of another host. */
  static final Duration ABANDONED = Duration.ofMinutes(30);

  private static final int TRIES = 20;

  /** What is known of a journal, since when. */
  private record Standing(long demand, long since) {}

  private final String key;
  private final KvCalls kv;
  private final Executor executor;
  private final String host;
  private final InstantSource clock;
  private final Map<String, Standing> standings = new HashMap<>();
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

  /** Completes when a journal that makes this demand from now on is sure to be found. */
  synchronized CompletionStage<@Nullable Void> require(String persistenceId, long demand) {
    long now = clock.millis();
    Standing before = standings.get(persistenceId);
    long earliest = before == null ? demand : Math.min(before.demand(), demand);
    standings.put(persistenceId, new Standing(earliest, now));
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

  /** Says what the journal demands that is in the store now. */
  synchronized void settled(String persistenceId, long demand) {
    if (marks.containsKey(persistenceId) || wanted.containsKey(persistenceId)) {
      Standing before = standings.get(persistenceId);
      if (before == null || before.demand() != demand) {
        standings.put(persistenceId, new Standing(demand, clock.millis()));
      }
    } else {
      standings.remove(persistenceId);
    }
  }

  /** Nobody knows what is in the store: a write failed. */
  synchronized void doubted(String persistenceId) {
    standings.remove(persistenceId);
  }

  /** The journals whose mark is so early, and their demands; null where it is not known. */
  synchronized Map<String, @Nullable Long> until(long at) {
    Map<String, @Nullable Long> found = new HashMap<>();
    marks.forEach(
        (persistenceId, mark) -> {
          if (mark.at() <= at) {
            Standing standing = standings.get(persistenceId);
            found.put(persistenceId, standing == null ? null : standing.demand());
          }
        });
    return found;
  }

  /** Takes marks away that say too much, if there are any. */
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

  /** Another host wrote meanwhile: what it wrote stays. */
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

  /** Whether the write was made is not known, so the index is read again before the next. */
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
            + " times because others wrote it; see how many hosts share the store");
  }

  private synchronized void written(Map<String, KvMark> next, String now) {
    marks = next;
    version = now;
    standings
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

  /** The marks as they should be, as far as this host knows and may say. */
  private Map<String, KvMark> corrected(boolean closing) {
    long now = clock.millis();
    Map<String, KvMark> corrected = new HashMap<>(marks);
    standings.forEach(
        (persistenceId, standing) -> {
          KvMark mark = marks.get(persistenceId);
          boolean rests = closing || older(standing.since(), RESTS, now);
          if (mark == null || !rests || !mayCorrect(mark, now)) {
            return;
          }
          if (standing.demand() == KvDocument.NOTHING) {
            corrected.remove(persistenceId);
          } else if (standing.demand() > mark.at()) {
            corrected.put(persistenceId, new KvMark(standing.demand(), mark.host(), mark.since()));
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
