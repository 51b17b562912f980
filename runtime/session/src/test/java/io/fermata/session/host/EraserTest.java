package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.runs.SessionDirectory;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

final class EraserTest {
  private static final SessionScope SCOPE = new SessionScope(Set.of("trip|s"), Set.of());

  private final List<String> done = new ArrayList<>();

  private static Eraser eraser(
      OpenStore store,
      Function<Collection<String>, CompletionStage<Deleted>> delete,
      Consumer<CompletableFuture<Void>> stop) {
    SessionDirectory directory =
        new SessionDirectory(
            store,
            Encryption.ofEnvironment(),
            InstantSource.system(),
            threads -> CompletableFuture.completedFuture(null));
    FlowCatalog noFlows = new FlowCatalog(List.of(), List.of(), List.of(), Limits.DEFAULT);
    return new Eraser(
        store,
        message -> {
          if (message instanceof SessionRegion.Bar bar) {
            stop.accept(bar.stopped());
          } else if (message instanceof SessionRegion.Unbar unbar) {
            unbar.lifted().complete(null);
          }
        },
        delete,
        store::scrub,
        new Recorders(List.of(), List.of(), noFlows, 1),
        erased -> {},
        directory,
        Runnable::run);
  }

  @Test
  void aSessionThatIsListedAgainMeanwhileIsErasedAsOne() {
    DirectoryEntry listed =
        new DirectoryEntry("trip|s", "run", "", "trip", 1, 1, 1, Set.of(), Map.of());
    AtomicBoolean again = new AtomicBoolean(true);
    try (OpenStore store = Store.memory().open()) {
      store.directory().put(listed).toCompletableFuture().join();
      Eraser eraser =
          eraser(
              store,
              ids ->
                  store
                      .delete(ids)
                      .thenCompose(
                          deleted ->
                              again.getAndSet(false)
                                  ? store.directory().put(listed).thenApply(put -> deleted)
                                  : CompletableFuture.completedFuture(deleted)),
              stopped -> stopped.complete(null));
      Erased erased = eraser.delete(SCOPE).toCompletableFuture().join();
      assertThat(erased.journals()).isOne();
      assertThat(store.journals("", 10).toCompletableFuture().join()).isEmpty();
    }
  }

  @Test
  void anErasureThatFailsAfterSomePortionsSaysHowManyJournalsAreErased() {
    Set<String> ids = new TreeSet<>();
    AtomicInteger portions = new AtomicInteger();
    String full = "The store failed: full; nothing of this request was written";
    try (OpenStore store = Store.memory().open()) {
      for (int i = 0; i < 120; i++) {
        String id = "trip|s" + i;
        ids.add(id);
        store
            .directory()
            .put(new DirectoryEntry(id, "run", "", "trip", 1, 1, 1, Set.of(), Map.of()))
            .toCompletableFuture()
            .join();
      }
      Eraser eraser =
          eraser(
              store,
              some ->
                  portions.incrementAndGet() % 3 == 0
                      ? CompletableFuture.failedFuture(
                          new StoreException(StoreProblem.FULL, full, null))
                      : store.delete(some),
              stopped -> stopped.complete(null));
      SessionScope scope = new SessionScope(ids, Set.of());
      assertThatThrownBy(() -> eraser.delete(scope).toCompletableFuture().join())
          .satisfies(failure -> assertThat(StoreProblem.of(failure)).isEqualTo(StoreProblem.FULL))
          .cause()
          .isInstanceOf(StoreException.class)
          .hasMessage("100 of 120 journals are erased; repeat the erasure for the rest: " + full);

      assertThat(eraser.delete(scope).toCompletableFuture().join().journals()).isEqualTo(20);
      portions.set(2);
      store
          .directory()
          .put(new DirectoryEntry("trip|s1", "run", "", "trip", 1, 1, 1, Set.of(), Map.of()))
          .toCompletableFuture()
          .join();
      assertThatThrownBy(() -> eraser.delete(scope).toCompletableFuture().join())
          .as("nothing is erased")
          .rootCause()
          .hasMessage(full);
    }
  }

  @Test
  void anImportThatASessionKeepsFromBeginningIsNotReportedAsAnErasure() {
    try (OpenStore store = Store.memory().open()) {
      CompletableFuture<String> imported =
          eraser(
                  store,
                  store::delete,
                  stopped -> stopped.completeExceptionally(new TimeoutException()))
              .alone(
                  SCOPE,
                  () -> {
                    done.add("imported");
                    return CompletableFuture.completedFuture("imported");
                  })
              .toCompletableFuture();
      assertThatThrownBy(imported::join)
          .hasRootCauseInstanceOf(TimeoutException.class)
          .hasMessageContaining(
              "A session did not stop in time, so nothing was changed; try again when the store is"
                  + " available")
          .hasMessageNotContaining("eras");
      assertThat(done).isEmpty();
    }
  }
}
