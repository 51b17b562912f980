package io.fermata.session;

import io.fermata.persistence.OpenStore;
import io.fermata.persistence.Store;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;

/** The runs of a store that nobody hosts here. */
final class OpenedRuns implements Runs.Opened {
  private final OpenStore store;
  private final RunLedger ledger;
  private final ExecutorService executor;
  private final Runs runs;

  private OpenedRuns(OpenStore store, Seals seals) {
    this.store = store;
    this.ledger = new RunLedger(store, seals, InstantSource.system());
    this.executor = HandlerThreads.replies();
    this.runs = new StoreRuns(store, ledger, executor);
  }

  static OpenedRuns open(Store store, Seals seals) {
    OpenedRuns opened = new OpenedRuns(store.open(), seals);
    try {
      Stages.now(opened.ledger.caughtUp());
      return opened;
    } catch (RuntimeException e) {
      opened.close();
      throw e;
    }
  }

  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return runs.list(query);
  }

  @Override
  public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
    return runs.get(flow, runId);
  }

  @Override
  public CompletionStage<Rebuilt> rebuild() {
    return runs.rebuild();
  }

  @Override
  public void close() {
    ledger.close(false);
    executor.shutdown();
    store.close();
  }
}
