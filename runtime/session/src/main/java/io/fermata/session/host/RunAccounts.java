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
                    () -> page(new Survey(flow, runId, after, limit)), threads)));
  }

  /** The journal of a session, as far as a page of the entries of one of its runs needs it. */
  private static final class Survey {
    private final String flow;
    private final String entityId;
    private final Own run;
    private final long after;
    private final int limit;
    private final Secrets secrets = new Secrets();
    private RunState state = RunState.NONE;
    private long first;
    private long last;
    private int found;

    Survey(String flow, String runId, long after, int limit) {
      this.flow = flow;
      this.entityId = SessionKey.entityOf(flow, runId);
      this.run = new Own(runId);
      this.after = after;
      this.limit = limit;
    }

    Survey add(JournalEntry<Event> entry, SecretFields fields) {
      List<Event> events = run.of(entry);
      if (!events.isEmpty()) {
        first = first == 0 ? entry.seq() : first;
        last = entry.seq();
        found += entry.seq() > after ? 1 : 0;
        state = state.apply(events);
        events.forEach(event -> secrets.learn(fields, event));
      }
      return this;
    }
  }

  /** The events of a run, without those of the others in its session. */
  static final class Own {
    private final String runId;
    private boolean own;

    Own(String runId) {
      this.runId = runId;
    }

    List<Event> of(JournalEntry<Event> entry) {
      List<Event> events = new ArrayList<>();
      for (Event event : entry.events()) {
        own = event instanceof Event.Started started ? started.runId().equals(runId) : own;
        if (own) {
          events.add(event);
        }
      }
      return events;
    }
  }

  /** The journal is read twice: a secret may come after the page that it must not be in. */
  private List<Runs.Entry> page(Survey survey) {
    // What is secret in any version, and whenever it was said, is in no line.
    boolean has = catalog.has(survey.flow);
    SecretFields fields = has ? catalog.secretFields(survey.flow) : SecretFields.NONE;
    if (has && SessionKey.isOfRun(survey.entityId)) {
      JournalPages.fold(
          store,
          survey.entityId,
          1,
          survey,
          (soFar, next) -> fields.isEmpty() && soFar.found == soFar.limit,
          (soFar, stored) -> soFar.add(encryption.read(soFar.entityId, stored).ofRun(), fields));
    }
    if (survey.first == 0) {
      throw new ThreadException(
          "unknown_run",
          "There is no run %s of %s here, or its entries are no longer kept"
              .formatted(survey.run.runId, survey.flow));
    }
    survey.secrets.learn(fields, survey.state);
    return JournalPages.fold(
            store,
            survey.entityId,
            survey.first,
            new Page(survey, catalog.describing(survey.flow, survey.state)),
            (page, next) -> page.full() || next.seq() > survey.last,
            (page, stored) -> page.add(encryption.read(survey.entityId, stored).ofRun()))
        .entries;
  }

  /** The entries of a page, of which only the lines are kept. */
  private static final class Page {
    private final Survey survey;
    private final Own run;
    private final Account account = new Account();
    private final RunObserver observer;
    private final List<Runs.Entry> entries = new ArrayList<>();

    Page(Survey survey, Flow<?> flow) {
      this.survey = survey;
      this.run = new Own(survey.run.runId);
      Recorder secretly = Redaction.ofSecrets(List.of(flow)).over(account);
      this.observer =
          RunObserver.from(RunState.NONE, flow, "", List.of(AttachedRecorder.everywhere(secretly)));
    }

    boolean full() {
      return entries.size() == survey.limit;
    }

    Page add(JournalEntry<Event> entry) {
      List<Event> events = run.of(entry);
      if (!events.isEmpty()) {
        observer.record(entry.seq(), entry.at(), events);
        List<String> lines = account.taken();
        if (entry.seq() > survey.after) {
          List<String> masked = lines.stream().map(survey.secrets::masked).toList();
          entries.add(
              new Runs.Entry(entry.seq(), entry.at(), entry.by(), entry.principal(), masked));
        }
      }
      return this;
    }
  }
}
