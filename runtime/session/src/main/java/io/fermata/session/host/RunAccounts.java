package io.fermata.session.host;

import io.fermata.flow.SecretFields;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.replay.RunEvents;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.RunSurvey;
import io.fermata.session.journal.StoreErrors;
import io.fermata.session.key.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** Reads what happened in the entries of a run, without its secrets and without waking it. */
public final class RunAccounts {
  /** How many journals are read at once. */
  private static final int AT_ONCE = 4;

  private final OpenStore store;
  private final Encryption encryption;
  private final FlowCatalog catalog;
  private final Executor threads;
  private final BoundedWork reading = new BoundedWork(AT_ONCE);

  /**
   * Reads from a store.
   *
   * @param threads may block
   */
  public RunAccounts(
      OpenStore store, Encryption encryption, FlowCatalog catalog, Executor threads) {
    this.store = store;
    this.encryption = encryption;
    this.catalog = catalog;
    this.threads = threads;
  }

  /** A narrative of the present entry. */
  private static final class Account implements Recorder {
    private Narrative narrative = new Narrative(1);

    @Override
    public void onEvent(Observation event) {
      narrative.onEvent(event);
    }

    List<String> taken() {
      List<String> lines = narrative.text().strip().lines().map(String::strip).toList();
      narrative = new Narrative(1);
      return lines.equals(List.of("")) ? List.of() : lines;
    }
  }

  CompletionStage<List<Runs.Entry>> read(String flow, String runId, long after, int limit) {
    return reading.begin(
        () ->
            StoreErrors.translated(
                CompletableFuture.supplyAsync(() -> page(flow, runId, after, limit), threads)));
  }

  private List<Runs.Entry> page(String flow, String runId, long after, int limit) {
    String journal = SessionKey.entityOf(flow, runId);
    boolean has = catalog.has(flow);
    SecretFields fields = has ? catalog.secretFields(flow) : SecretFields.NONE;
    RunSurvey survey = new RunSurvey(store, encryption, journal, fields, () -> RunEvents.of(runId));
    if (has && SessionKey.isOfRun(journal)) {
      survey.look(after, limit);
    }
    if (!survey.found()) {
      throw new ThreadException(
          Outcome.Failure.of(
              ErrorCode.UNKNOWN_RUN,
              "There is no run %s of %s here, or its entries are no longer kept"
                  .formatted(runId, flow)));
    }
    Account account = new Account();
    List<Runs.Entry> entries = new ArrayList<>();
    survey.publish(
        catalog.describing(flow, survey.state()),
        account,
        entry -> {
          List<String> lines = account.taken();
          if (entry.seq() > after) {
            List<String> masked = lines.stream().map(survey::masked).toList();
            entries.add(
                new Runs.Entry(entry.seq(), entry.at(), entry.by(), entry.principal(), masked));
          }
          return entries.size() < limit;
        });
    return entries;
  }
}
