package io.fermata.session.host;

import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Audience;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.key.RootCauses;
import io.fermata.session.key.SessionKey;
import io.fermata.session.runs.SessionDirectory;
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
public final class Eraser {
  /** How long sessions may take to stop. */
  private static final Duration STOPPING = Duration.ofSeconds(30);

  /** How often what is left is deleted again. */
  private static final int ATTEMPTS = 3;

  private final OpenStore store;
  private final Consumer<SessionRegion.Message> region;
  private final Audience audience;
  private final Consumer<String> gone;
  private final SessionDirectory ledger;
  private final Executor executor;

  /**
   * Erases what is in a store.
   *
   * @param gone tells those who watch a session
   */
  public Eraser(
      OpenStore store,
      Consumer<SessionRegion.Message> region,
      Audience audience,
      Consumer<String> gone,
      SessionDirectory ledger,
      Executor executor) {
    this.store = store;
    this.region = region;
    this.audience = audience;
    this.gone = gone;
    this.ledger = ledger;
    this.executor = executor;
  }

  public CompletionStage<Erased> erase(SessionScope scope) {
    return alone(
        scope, () -> found(scope).thenComposeAsync(found -> erase(scope, found), executor));
  }

  /**
   * Does some work while none of the sessions is awake or can be reached. If it fails they go on.
   */
  <T> CompletionStage<T> alone(SessionScope scope, Supplier<CompletionStage<T>> work) {
    return barred(scope)
        .thenComposeAsync(nothing -> work.get(), executor)
        .whenComplete(
            (done, thrown) -> region.accept(new SessionRegion.Unbar(scope, thrown != null)));
  }

  /** The threads that are found may have begun more, whose names begin with theirs. */
  private CompletionStage<Erased> erase(SessionScope scope, Set<String> found) {
    SessionScope wider = scope.withFamilies(found);
    if (!wider.equals(scope)) {
      return erase(wider);
    }
    int untold = audience.forget(scope::has);
    return ledger
        .forget(scope::has)
        .thenComposeAsync(nothing -> delete(scope, found, Deleted.NOTHING, ATTEMPTS), executor)
        .thenComposeAsync(
            gone -> store.scrub().thenApply(nothing -> Erased.of(gone, untold)), executor)
        .whenComplete((erased, thrown) -> found.forEach(gone));
  }

  private CompletionStage<Deleted> delete(
      SessionScope scope, Set<String> found, Deleted before, int attempts) {
    if (found.isEmpty()) {
      return CompletableFuture.completedFuture(before);
    } else if (attempts == 0) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "Something goes on writing %s while it is erased; is another host on this store? Erase it again"
                  .formatted(String.join(", ", found))));
    }
    return store
        .delete(found)
        .thenComposeAsync(
            gone ->
                found(scope)
                    .thenComposeAsync(
                        left -> delete(scope, left, before.and(gone), attempts - 1), executor),
            executor);
  }

  /** Lets nobody in any more; completes when nobody is in. */
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
                          "A session that is to be erased did not stop in time, so nothing was"
                              + " erased; erase it again when the store answers",
                          thrown)
                      : thrown);
            });
  }

  /** What the store has, of whatever kind. */
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

  /** A session whose whole name is known is found in a store that cannot be searched, too. */
  private CompletionStage<List<String>> named(String entityId) {
    return store
        .journals(SessionKey.placeOf(entityId))
        .exceptionallyCompose(
            thrown ->
                RootCauses.find(thrown, NoHistoryException.class) != null
                    ? store
                        .readBack(entityId, Long.MAX_VALUE, 1)
                        .thenApply(records -> records.isEmpty() ? List.of() : List.of(entityId))
                    : CompletableFuture.failedFuture(thrown));
  }
}
