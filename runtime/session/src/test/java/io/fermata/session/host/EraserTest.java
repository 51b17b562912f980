package io.fermata.session.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.flow.json.Limits;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.actor.Recorders;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.runs.SessionDirectory;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

final class EraserTest {
  private static final SessionScope SCOPE = new SessionScope(Set.of("trip|s"), Set.of());

  private final List<String> done = new ArrayList<>();

  /** Of a host whose sessions do not stop. */
  private static Eraser eraser(OpenStore store) {
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
            bar.stopped().completeExceptionally(new TimeoutException());
          } else if (message instanceof SessionRegion.Unbar unbar) {
            unbar.lifted().complete(null);
          }
        },
        store::delete,
        new Recorders(List.of(), List.of(), noFlows, 1),
        erased -> {},
        directory,
        Runnable::run);
  }

  @Test
  void anImportThatASessionKeepsFromBeginningIsNotReportedAsAnErasure() {
    try (OpenStore store = Store.memory().open()) {
      CompletableFuture<String> imported =
          eraser(store)
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
