package io.fermata.session.runs;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.Stages;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;

/** The runs of a store that nobody hosts here. */
public final class OpenedRuns implements Runs.Opened {
  private final OpenStore store;
  private final SessionDirectory ledger;
  private final ExecutorService executor;
  private final Runs runs;

  private OpenedRuns(OpenStore store, Encryption seals) {
    this.store = store;
    this.ledger = new SessionDirectory(store, seals, InstantSource.system());
    this.executor = HandlerThreads.replies();
    this.runs = new StoreRuns(store, ledger, executor);
  }

  public static OpenedRuns open(Store store, Encryption seals) {
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
