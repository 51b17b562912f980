package io.fermata.session.host;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.SessionDirectory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Erases sessions: stops them, blocks calls to them, deletes their data, and verifies that nothing
 * is left. Many are deleted in portions, so an erasure that fails may have erased some of them; if
 * it is repeated, it erases the rest.
 *
 * @param region stops sessions, and lets them be reached again
 * @param delete deletes journals
 * @param overwrite overwrites what was deleted
 * @param onErased notifies subscribers of a session
 */
public record Eraser(
    OpenStore store,
    Consumer<SessionRegion.Message> region,
    Function<Collection<String>, CompletionStage<Deleted>> delete,
    Supplier<CompletionStage<@Nullable Void>> overwrite,
    Recorders recorders,
    Consumer<String> onErased,
    SessionDirectory directory,
    Executor executor) {
  /** The timeout for sessions to stop. */
  private static final Duration STOPPING = Duration.ofSeconds(30);

  private static final Duration LIFTING = Duration.ofSeconds(5);

  /** The number of attempts. */
  private static final int ATTEMPTS = 3;

  /** How many journals are deleted in one transaction, which the calls of others wait for. */
  private static final int AT_ONCE = 50;

  public CompletionStage<Erased> erase(SessionScope scope) {
    return scrubbed(delete(scope));
  }

  /** Overwrites also what an earlier attempt deleted only. */
  public CompletionStage<Erased> scrubbed(CompletionStage<Erased> deleted) {
    return deleted.thenComposeAsync(
        erased -> overwrite.get().thenApply(overwritten -> erased), executor);
  }

  /** As {@link #erase}, but what was deleted may remain in the files of the store. */
  public CompletionStage<Erased> delete(SessionScope scope) {
    return alone(
        scope, () -> found(scope).thenComposeAsync(found -> delete(scope, found), executor));
  }

  /** Runs work while the sessions are stopped and blocked. If it fails, they resume. */
  public <T> CompletionStage<T> alone(SessionScope scope, Supplier<CompletionStage<T>> work) {
    CompletionStage<T> worked = barred(scope).thenComposeAsync(nothing -> work.get(), executor);
    return worked
        .handle((done, thrown) -> lifted(scope, thrown != null))
        .thenCompose(lifted -> lifted)
        .thenCompose(nothing -> worked);
  }

  /** Extends the scope to everything that the found threads created. */
  private CompletionStage<Erased> delete(SessionScope scope, Set<String> found) {
    SessionScope wider = scope.withFamilies(found);
    if (!wider.equals(scope)) {
      return delete(wider);
    }
    int undelivered = recorders.forget(scope::has);
    return directory
        .forget(scope::has)
        .thenComposeAsync(
            nothing ->
                delete(scope, found, new Progress(new HashSet<>(), new HashSet<>()), ATTEMPTS),
            executor)
        .thenApply(deleted -> Erased.of(deleted, undelivered));
  }

  /**
   * The journals that an erasure has found, each of which is counted once, and those of them that
   * it has erased.
   */
  private record Progress(Set<String> found, Set<String> erased) {
    <T> CompletionStage<T> explained(CompletionStage<T> work) {
      return work.exceptionallyCompose(
          thrown -> CompletableFuture.failedFuture(explained(RootCauses.of(thrown))));
    }

    /** A store says of one portion that nothing of it was written. */
    private Throwable explained(Throwable failure) {
      if (erased.isEmpty()) {
        return failure;
      }
      String count =
          "%s of %s journals are erased; repeat the erasure for the rest: "
              .formatted(erased.size(), found.size());
      return failure instanceof StoreException
          ? new ErasedInPart(count, failure)
          : new IllegalStateException(count + failure.getMessage(), failure);
    }
  }

  /** The store failed after it had erased a part. */
  static final class ErasedInPart extends StoreException {
    private static final long serialVersionUID = 1;

    private final String count;

    ErasedInPart(String count, Throwable failure) {
      super(StoreProblem.of(failure), count + failure.getMessage(), failure);
      this.count = count;
    }

    /** The message for a client, which names no file and no address. */
    String forClients() {
      return count + problem().text();
    }
  }

  /** Deletes until nothing is left: a session may be listed again while it is deleted. */
  private CompletionStage<Deleted> delete(
      SessionScope scope, Set<String> found, Progress progress, int attempts) {
    if (found.isEmpty()) {
      return CompletableFuture.completedFuture(Deleted.NOTHING);
    } else if (attempts == 0) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "%s is still being written during the erasure, possibly by another host on this store; stop that host and erase again"
                  .formatted(String.join(", ", found))));
    }
    progress.found.addAll(found);
    CompletionStage<Deleted> done = inPortions(found, progress);
    return progress
        .explained(done.thenComposeAsync(deleted -> found(scope), executor))
        .thenComposeAsync(left -> delete(scope, left, progress, attempts - 1), executor)
        .thenCombine(done, (more, first) -> first.and(more).ofAtMost(progress.found.size()));
  }

  /** Each in a transaction of its own: what waits for the store meanwhile comes between. */
  private CompletionStage<Deleted> inPortions(Set<String> found, Progress progress) {
    CompletionStage<Deleted> done = CompletableFuture.completedFuture(Deleted.NOTHING);
    for (List<String> portion : portions(found)) {
      done =
          done.thenComposeAsync(
              before ->
                  delete
                      .apply(portion)
                      .thenApply(
                          deleted -> {
                            progress.erased.addAll(portion);
                            portion.forEach(onErased);
                            return before.and(deleted);
                          }),
              executor);
    }
    return done;
  }

  /**
   * What a thread has created comes in portions before the thread itself: an erasure that is
   * repeated finds it by the thread. Neighbours are of one shard, so that few hosts are asked.
   */
  private static List<List<String>> portions(Set<String> found) {
    Map<String, String> threads = new HashMap<>();
    for (String id : found) {
      if (SessionKey.agentOf(id) != null) {
        threads.put(ThreadKey.ofEntity(id).family(), id);
      }
    }
    Map<Integer, List<String>> byDepth = new TreeMap<>(Comparator.reverseOrder());
    for (String id : found) {
      byDepth.computeIfAbsent(depth(id, threads), depth -> new ArrayList<>()).add(id);
    }
    List<List<String>> portions = new ArrayList<>();
    for (List<String> level : byDepth.values()) {
      level.sort(Comparator.comparingInt(Shard::of));
      for (int from = 0; from < level.size(); from += AT_ONCE) {
        portions.add(level.subList(from, Math.min(from + AT_ONCE, level.size())));
      }
    }
    return portions;
  }

  /** How many of the threads led to a session. */
  private static int depth(String entityId, Map<String, String> threadsByFamily) {
    int depth = 0;
    String by = threadsByFamily.get(ThreadKey.familyOf(entityId));
    while (by != null) {
      depth++;
      by = threadsByFamily.get(ThreadKey.familyOf(by));
    }
    return depth;
  }

  /** Blocks the sessions; completes when all have stopped. */
  private CompletionStage<Void> barred(SessionScope scope) {
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    region.accept(new SessionRegion.Bar(scope, stopped));
    return stopped
        .orTimeout(STOPPING.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionally(
            thrown -> {
              throw new CompletionException(
                  thrown instanceof TimeoutException
                      ? new IllegalStateException(
                          "A session did not stop in time, so nothing was changed; try again"
                              + " when the store is available",
                          thrown)
                      : thrown);
            });
  }

  /** Completes when no host blocks the sessions any more, as far as hosts respond. */
  private CompletionStage<Void> lifted(SessionScope scope, boolean resume) {
    CompletableFuture<Void> lifted = new CompletableFuture<>();
    region.accept(new SessionRegion.Unbar(scope, resume, lifted));
    return lifted.completeOnTimeout(null, LIFTING.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** All journals of a scope in the store. */
  private CompletionStage<Set<String>> found(SessionScope scope) {
    List<CompletionStage<List<String>>> asked = new ArrayList<>();
    scope.places().forEach(place -> asked.add(store.journals(place)));
    scope.entities().forEach(id -> asked.add(named(id)));
    CompletionStage<Set<String>> all = CompletableFuture.completedFuture(new TreeSet<>());
    for (CompletionStage<List<String>> some : asked) {
      all =
          all.thenCombineAsync(
              some,
              (found, more) -> {
                more.stream().filter(scope::has).forEach(found::add);
                return found;
              },
              executor);
    }
    return all;
  }

  /** Finds a session by its full name, also in a store that cannot be searched. */
  private CompletionStage<List<String>> named(String entityId) {
    return store
        .journals(SessionKey.placeOf(entityId))
        .exceptionallyCompose(
            thrown ->
                RootCauses.find(thrown, NoHistoryException.class) != null
                    ? exists(entityId).thenApply(there -> there ? List.of(entityId) : List.of())
                    : CompletableFuture.failedFuture(thrown));
  }

  /** Whether there is a journal; what cannot be read can be erased, too. */
  CompletionStage<Boolean> exists(String entityId) {
    return store
        .readBack(entityId, Long.MAX_VALUE, 1)
        .thenApply(last -> !last.isEmpty())
        .exceptionallyCompose(
            thrown ->
                RootCauses.find(thrown, DamagedException.class) != null
                    ? CompletableFuture.completedFuture(true)
                    : CompletableFuture.failedFuture(thrown));
  }
}
