package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.OpenStore;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
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
