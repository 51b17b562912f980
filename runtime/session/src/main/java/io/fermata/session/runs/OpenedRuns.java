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

/** The runs of a store without a host. */
public final class OpenedRuns implements Runs.Opened {
  private final OpenStore store;
  private final SessionDirectory directory;
  private final ExecutorService executor;
  private final Runs runs;

  private OpenedRuns(OpenStore store, Encryption encryption) {
    this.store = store;
    this.directory = new SessionDirectory(store, encryption, InstantSource.system());
    this.executor = HandlerThreads.replies();
    this.runs = new StoreRuns(store, directory, executor);
  }

  public static OpenedRuns open(Store store, Encryption encryption) {
    OpenedRuns opened = new OpenedRuns(store.open(), encryption);
    try {
      Stages.now(opened.directory.caughtUp());
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
  public CompletionStage<Integer> count(RunQuery query, int most) {
    return runs.count(query, most);
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
    directory.close(false);
    executor.shutdown();
    store.close();
  }
}
