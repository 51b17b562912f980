package io.fermata.session.runs;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.Stages;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;

/**
 * The runs of an open store, from its directory.
 *
 * @param stop stops the executor
 */
public record StoreRuns(
    OpenStore store, SessionDirectory directory, Executor executor, Runnable stop)
    implements Runs.Opened {
  /** Opens a store only for its runs. */
  public static StoreRuns open(Store store, Encryption encryption) {
    OpenStore open = store.open();
    ExecutorService replies = HandlerThreads.replies();
    StoreRuns runs =
        new StoreRuns(
            open,
            new SessionDirectory(
                open,
                encryption,
                InstantSource.system(),
                threads -> CompletableFuture.completedFuture(null)),
            replies,
            replies::shutdown);
    try {
      Stages.now(runs.directory.caughtUp());
      return runs;
    } catch (RuntimeException e) {
      runs.close();
      throw e;
    }
  }

  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return StoreErrors.translated(store.directory().list(RunRow.query(query)))
        .thenApplyAsync(
            page -> new Page(page.entries().stream().map(RunRow::info).toList(), page.next()),
            executor);
  }

  @Override
  public CompletionStage<Integer> count(RunQuery query, int most) {
    if (most < 0) {
      throw new IllegalArgumentException(
          "Runs are counted up to %s; give 0 or more".formatted(most));
    }
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

  /** Closes the store with them; the runs of a host end with the host. */
  @Override
  public void close() {
    directory.close(false);
    stop.run();
    store.close();
  }
}
