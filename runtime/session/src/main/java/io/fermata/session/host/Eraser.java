package io.fermata.session.host;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Recorders;
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
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Erases sessions: stops them, blocks calls to them, deletes their data, and verifies that nothing
 * is left.
 *
 * @param region stops sessions, and lets them be reached again
 * @param delete deletes journals
 * @param onErased notifies subscribers of a session
 */
public record Eraser(
    OpenStore store,
    Consumer<SessionRegion.Message> region,
    Function<Set<String>, CompletionStage<Deleted>> delete,
    Recorders recorders,
    Consumer<String> onErased,
    SessionDirectory directory,
    Executor executor) {
  /** The timeout for sessions to stop. */
  private static final Duration STOPPING = Duration.ofSeconds(30);

  private static final Duration LIFTING = Duration.ofSeconds(5);

  /** The number of attempts. */
  private static final int ATTEMPTS = 3;

  /** Erases also what an earlier attempt deleted without overwriting it. */
  public CompletionStage<Erased> erase(SessionScope scope) {
    return delete(scope)
        .thenComposeAsync(erased -> store.scrub().thenApply(scrubbed -> erased), executor);
  }

  /** As {@link #erase}, but what was deleted may remain in the files of the store. */
  CompletionStage<Erased> delete(SessionScope scope) {
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
        .thenComposeAsync(nothing -> delete(scope, found, Deleted.NOTHING, ATTEMPTS), executor)
        .thenApplyAsync(
            deleted -> {
              found.forEach(onErased);
              return Erased.of(deleted, undelivered);
            },
            executor);
  }

  private CompletionStage<Deleted> delete(
      SessionScope scope, Set<String> found, Deleted before, int attempts) {
    if (found.isEmpty()) {
      return CompletableFuture.completedFuture(before);
    } else if (attempts == 0) {
      return CompletableFuture.failedFuture(
          new IllegalStateException(
              "%s is still being written during the erasure, possibly by another host on this store; stop that host and erase again"
                  .formatted(String.join(", ", found))));
    }
    return delete
        .apply(found)
        .thenComposeAsync(
            deleted ->
                found(scope)
                    .thenComposeAsync(
                        left -> delete(scope, left, before.and(deleted), attempts - 1), executor),
            executor);
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
                          "A session did not stop in time, so nothing was erased; erase"
                              + " it again when the store is available",
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
  private CompletionStage<Boolean> exists(String entityId) {
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
