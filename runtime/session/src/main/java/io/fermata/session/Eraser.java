package io.fermata.session;

import io.fermata.persistence.Forgotten;
import io.fermata.persistence.NoHistoryException;
import io.fermata.persistence.OpenStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Erases sessions: it stops those that are awake, keeps everybody out, deletes what there is, and
 * makes sure that nothing is left.
 */
final class Eraser {
  /** How long sessions may take to stop. */
  private static final Duration STOPPING = Duration.ofSeconds(30);

  /** How often what is left is deleted again. */
  private static final int ATTEMPTS = 3;

  private final OpenStore store;
  private final Consumer<SessionRegion.Message> region;
  private final Audience audience;
  private final Consumer<String> gone;
  private final RunLedger ledger;
  private final Executor executor;

  /**
   * Erases what is in a store.
   *
   * @param gone tells those who watch a session
   */
  Eraser(
      OpenStore store,
      Consumer<SessionRegion.Message> region,
      Audience audience,
      Consumer<String> gone,
      RunLedger ledger,
      Executor executor) {
    this.store = store;
    this.region = region;
    this.audience = audience;
    this.gone = gone;
    this.ledger = ledger;
    this.executor = executor;
  }

  CompletionStage<Erased> erase(Scope scope) {
    return alone(
        scope, () -> found(scope).thenComposeAsync(found -> erase(scope, found), executor));
  }

  /**
   * Does some work while none of the sessions is awake or can be reached. If it fails they go on.
   */
  <T> CompletionStage<T> alone(Scope scope, Supplier<CompletionStage<T>> work) {
    return barred(scope)
        .thenComposeAsync(nothing -> work.get(), executor)
        .whenComplete(
            (done, thrown) -> region.accept(new SessionRegion.Unbar(scope, thrown != null)));
  }

  /** The threads that are found may have begun more, whose names begin with theirs. */
  private CompletionStage<Erased> erase(Scope scope, Set<String> found) {
    Scope wider = scope.withFamilies(found);
    if (!wider.equals(scope)) {
      return erase(wider);
    }
    int untold = audience.forget(scope::has);
    return ledger
        .forget(scope::has)
        .thenComposeAsync(nothing -> delete(scope, found, Forgotten.NOTHING, ATTEMPTS), executor)
        .thenComposeAsync(
            gone -> store.scrub().thenApply(nothing -> Erased.of(gone, untold)), executor)
        .whenComplete((erased, thrown) -> found.forEach(gone));
  }

  private CompletionStage<Forgotten> delete(
      Scope scope, Set<String> found, Forgotten before, int attempts) {
    if (found.isEmpty()) {
      return CompletableFuture.completedFuture(before);
    } else if (attempts == 0) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "Something goes on writing %s while it is erased; is another host on this store? Erase it again"
                  .formatted(String.join(", ", found))));
    }
    return store
        .forget(found)
        .thenComposeAsync(
            gone ->
                found(scope)
                    .thenComposeAsync(
                        left -> delete(scope, left, before.and(gone), attempts - 1), executor),
            executor);
  }

  /** Lets nobody in any more; completes when nobody is in. */
  private CompletionStage<Void> barred(Scope scope) {
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    region.accept(new SessionRegion.Bar(scope, stopped));
    return stopped
        .orTimeout(STOPPING.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionally(
            thrown -> {
              throw new CompletionException(
                  thrown instanceof TimeoutException
                      ? new IllegalStateException(
                          "A session that is to be erased did not stop in time, so nothing was"
                              + " erased; erase it again when the store answers",
                          thrown)
                      : thrown);
            });
  }

  /** What the store has, of whatever kind. */
  private CompletionStage<Set<String>> found(Scope scope) {
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

  /** A session whose whole name is known is found in a store that cannot be searched, too. */
  private CompletionStage<List<String>> named(String entityId) {
    return store
        .journals(SessionKey.placeOf(entityId))
        .exceptionallyCompose(
            thrown ->
                Causes.find(thrown, NoHistoryException.class) != null
                    ? store
                        .readBack(entityId, Long.MAX_VALUE, 1)
                        .thenApply(records -> records.isEmpty() ? List.of() : List.of(entityId))
                    : CompletableFuture.failedFuture(thrown));
  }
}
