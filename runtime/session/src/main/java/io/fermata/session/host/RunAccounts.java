package io.fermata.session.host;

import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
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
                CompletableFuture.supplyAsync(
                    () -> accounts(journal(flow, runId, after, limit), after, limit), threads)));
  }

  /** The journal of a session, as far as a page of the entries of one of its runs needs it. */
  private static final class Read {
    private final String runId;
    private final long after;
    private final List<JournalEntry<Event>> entries = new ArrayList<>();
    private boolean own;
    private int found;

    Read(String runId, long after) {
      this.runId = runId;
      this.after = after;
    }

    Read add(JournalEntry<Event> entry) {
      entries.add(entry);
      boolean any = false;
      for (Event event : entry.events()) {
        own = event instanceof Event.Started started ? started.runId().equals(runId) : own;
        any |= own;
      }
      found += any && entry.seq() > after ? 1 : 0;
      return this;
    }
  }

  /** A secret may come after the page that it must not be in. */
  private RunJournal journal(String flow, String runId, long after, int limit) {
    String entityId = SessionKey.entityOf(flow, runId);
    Read read = new Read(runId, after);
    if (catalog.has(flow) && SessionKey.isOfRun(entityId)) {
      int most = catalog.secretFields(flow).isEmpty() ? limit : Integer.MAX_VALUE;
      JournalPages.fold(
          store,
          entityId,
          1,
          read,
          (soFar, next) -> soFar.found == most,
          (soFar, stored) -> soFar.add(encryption.read(entityId, stored).ofRun()));
    }
    RunJournal journal = RunJournal.of(flow, runId, read.entries);
    if (journal.entries().isEmpty()) {
      throw new ThreadException(
          "unknown_run",
          "There is no run %s of %s here, or its entries are no longer kept"
              .formatted(runId, flow));
    }
    return journal;
  }

  private List<Runs.Entry> accounts(RunJournal journal, long after, int limit) {
    RunState end = journal.state();
    Flow<?> flow = catalog.describing(journal.flow(), end);
    // What is secret in any version, and whenever it was said, is in no line.
    SecretFields fields = catalog.secretFields(journal.flow());
    Secrets secrets = journal.secrets(fields);
    secrets.learn(fields, end);
    Account account = new Account();
    Recorder secretly = Redaction.ofSecrets(List.of(flow)).over(account);
    RunObserver observer =
        RunObserver.from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(secretly)));
    List<Runs.Entry> page = new ArrayList<>();
    for (JournalEntry<Event> entry : journal.entries()) {
      observer.record(entry.seq(), entry.at(), entry.events());
      List<String> lines = account.taken();
      if (entry.seq() > after) {
        List<String> masked = lines.stream().map(secrets::masked).toList();
        page.add(new Runs.Entry(entry.seq(), entry.at(), entry.by(), entry.principal(), masked));
      }
      if (page.size() == limit) {
        break;
      }
    }
    return page;
  }
}
