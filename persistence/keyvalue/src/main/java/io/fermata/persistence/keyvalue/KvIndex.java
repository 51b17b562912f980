package io.fermata.persistence.keyvalue;

import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Due;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the journals of a key-value store that need attention, as such a store cannot be searched.
 * It is spread over a fixed number of values, to avoid contention.
 */
final class KvIndex {

  static final int SHARDS = 16;

  /**
   * How many journals are read at once. A host that starts looks for what is unfinished and for
   * what is due, and calls need connections meanwhile.
   */
  static final int READ_AT_ONCE = KvCalls.AT_ONCE / 4;

  private final List<KvShard> shards;

  KvIndex(KvCalls kv, Executor executor, String host, InstantSource clock, LongSupplier nanos) {
    shards =
        IntStream.range(0, SHARDS)
            .mapToObj(shard -> new KvShard(key(shard), kv, executor, host, clock, nanos))
            .toList();
  }

  /** The key of a shard. */
  static String key(int shard) {
    return "index:" + shard;
  }

  CompletableFuture<@Nullable Void> load() {
    return all(shards.stream().map(shard -> shard.load().toCompletableFuture()).toList());
  }

  private KvShard shard(String persistenceId) {
    return shards.get(Math.floorMod(persistenceId.hashCode(), SHARDS));
  }

  /** Completes when a journal with this demand is certain to be found. */
  CompletionStage<@Nullable Void> require(String persistenceId, long demand) {
    return demand == KvDocument.NOTHING
        ? CompletableFuture.completedFuture(null)
        : shard(persistenceId).require(persistenceId, demand);
  }

  void settled(String persistenceId, long demand) {
    shard(persistenceId).settled(persistenceId, demand);
  }

  void doubted(String persistenceId) {
    shard(persistenceId).doubted(persistenceId);
  }

  /**
   * The first journals with a demand up to a time, the earliest first. One whose value cannot be
   * read has the demand of its mark: its session wakes and reports the damage, and the others are
   * found.
   *
   * @param after only journals with a greater name are found
   * @param look reads the demand of a journal where it is not known
   */
  CompletionStage<List<Due>> until(
      long at,
      String after,
      int max,
      Predicate<Long> wanted,
      Function<String, CompletionStage<Long>> look) {
    List<KvShard.Marked> marked =
        shards.stream()
            .flatMap(shard -> shard.until(at).stream())
            .filter(journal -> journal.persistenceId().compareTo(after) > 0)
            .sorted(
                Comparator.comparingLong(KvShard.Marked::at)
                    .thenComparing(KvShard.Marked::persistenceId))
            .toList();
    Predicate<Due> fits = journal -> journal.at() <= at && wanted.test(journal.at());
    List<Due> found = new ArrayList<>();
    CompletionStage<@Nullable Void> read = CompletableFuture.completedFuture(null);
    for (List<KvShard.Marked> page : pages(marked)) {
      read =
          read.thenCompose(
              before ->
                  isEnough(found, max, page.get(0))
                      ? CompletableFuture.completedFuture(null)
                      : demands(page, look)
                          .thenAccept(all -> all.stream().filter(fits).forEach(found::add)));
    }
    return read.thenApply(
        done ->
            found.stream()
                .sorted(Comparator.comparingLong(Due::at).thenComparing(Due::persistenceId))
                .limit(max)
                .toList());
  }

  /** In each page are as many journals that must be read as are read at once. */
  private static List<List<KvShard.Marked>> pages(List<KvShard.Marked> marked) {
    List<List<KvShard.Marked>> pages = new ArrayList<>();
    int unknown = 0;
    for (KvShard.Marked journal : marked) {
      if (pages.isEmpty() || unknown == READ_AT_ONCE) {
        pages.add(new ArrayList<>());
        unknown = 0;
      }
      pages.get(pages.size() - 1).add(journal);
      unknown += journal.demand() == null ? 1 : 0;
    }
    return pages;
  }

  /** Whether none of the journals from the next mark on is among the first. */
  private static boolean isEnough(List<Due> found, int max, KvShard.Marked next) {
    return found.stream().filter(journal -> journal.at() <= next.at()).limit(max).count() == max;
  }

  private static CompletableFuture<List<Due>> demands(
      List<KvShard.Marked> page, Function<String, CompletionStage<Long>> look) {
    List<CompletableFuture<Due>> demands = new ArrayList<>();
    for (KvShard.Marked journal : page) {
      String persistenceId = journal.persistenceId();
      Long known = journal.demand();
      CompletionStage<Long> demand =
          known == null
              ? look.apply(persistenceId).exceptionally(thrown -> ofMark(journal, thrown))
              : CompletableFuture.completedFuture(known);
      demands.add(demand.thenApply(each -> new Due(persistenceId, each)).toCompletableFuture());
    }
    return all(demands).thenApply(done -> demands.stream().map(CompletableFuture::join).toList());
  }

  /** The store itself has failed if this is not about the value. */
  private static long ofMark(KvShard.Marked journal, Throwable thrown) {
    Throwable cause = StoreFailures.of(thrown);
    if (cause instanceof DamagedException || cause instanceof UnreadableValue) {
      return journal.at();
    }
    throw new CompletionException(cause);
  }

  CompletionStage<@Nullable Void> clean(boolean closing) {
    return all(shards.stream().map(shard -> shard.clean(closing).toCompletableFuture()).toList());
  }

  private static CompletableFuture<@Nullable Void> all(
      List<? extends CompletableFuture<?>> stages) {
    return CompletableFuture.allOf(stages.toArray(CompletableFuture[]::new));
  }
}
