package io.fermata.session.runs;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.journal.StoreErrors;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** The runs of an open store, from its directory. */
public record StoreRuns(OpenStore store, SessionDirectory directory, Executor executor)
    implements Runs {
  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return StoreErrors.translated(store.directory().list(RunRow.query(query)))
        .thenApplyAsync(
            page -> new Page(page.entries().stream().map(RunRow::info).toList(), page.next()),
            executor);
  }

  @Override
  public CompletionStage<Integer> count(RunQuery query, int most) {
    return StoreErrors.translated(store.directory().count(RunRow.query(query), most));
  }

  @Override
  public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
    return listing()
        .thenCompose(lists -> StoreErrors.translated(store.directory().get(RunRow.id(flow, runId))))
        .thenApplyAsync(
            entry -> entry.filter(found -> RunRow.KINDS.contains(found.kind())).map(RunRow::info),
            executor);
  }

  @Override
  public CompletionStage<Rebuilt> rebuild() {
    return listing().thenCompose(lists -> directory.rebuild());
  }

  /** Fails if the store cannot list, as its runs are not in the directory. */
  private CompletionStage<?> listing() {
    return store.supportsListing()
        ? CompletableFuture.completedFuture(null)
        : StoreErrors.translated(store.newest());
  }
}
