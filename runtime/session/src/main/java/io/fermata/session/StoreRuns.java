package io.fermata.session;

import io.fermata.persistence.Directory;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** The runs of an open store, as its directory has them. */
final class StoreRuns implements Runs {
  private final Directory directory;
  private final RunLedger ledger;
  private final Executor executor;

  StoreRuns(Directory directory, RunLedger ledger, Executor executor) {
    this.directory = directory;
    this.ledger = ledger;
    this.executor = executor;
  }

  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return NotKept.told(directory.list(RunRow.query(query)))
        .thenApplyAsync(
            page -> new Page(page.entries().stream().map(RunRow::info).toList(), page.next()),
            executor);
  }

  @Override
  public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
    return directory
        .get(RunRow.id(flow, runId))
        .thenApplyAsync(
            entry -> entry.filter(found -> found.kind().equals(RunRow.KIND)).map(RunRow::info),
            executor);
  }

  @Override
  public CompletionStage<Rebuilt> rebuild() {
    return ledger.rebuild();
  }
}
