package io.fermata.session;

import io.fermata.flow.Flow;
import io.fermata.flow.Secrets;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.engine.FlowVersions;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.picture.Picture;
import io.fermata.flow.replay.Change;
import io.fermata.flow.replay.Divergence;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.host.RunEvents;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import io.fermata.session.runs.RunJournals;
import java.io.NotSerializableException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides runs again. Sessions are read and decided on all processors, a few at a time, and counted
 * in their order.
 */
final class WhatIfCheck {
  private static final int ENTRIES = 500;
  private static final int AHEAD = 8;

  private final FlowCatalog catalog;
  private final @Nullable Instant since;

  // --- used by the calling thread only

  private final Map<List<Object>, WhatIfResult.Count> changes = new LinkedHashMap<>();
  private final Map<List<String>, WhatIfResult.Example> examples = new LinkedHashMap<>();
  private int same;
  private int skipped;

  /** A run that was decided again. */
  private record Decided(
      Flow<?> flow,
      RunJournal journal,
      @Nullable Divergence divergence,
      List<Change> changes,
      @Nullable String unfit) {

    String node() {
      return divergence == null ? "" : divergence.node();
    }

    /** What a person may read of it. */
    String text() {
      List<String> parts = new ArrayList<>();
      if (divergence != null) {
        parts.add(divergence.text());
      }
      if (unfit != null) {
        parts.add(unfit);
      }
      Secrets secrets = new Secrets();
      journal.events().forEach(event -> secrets.learn(flow.secretFields(), event));
      return secrets.masked(String.join("\n", parts));
    }

    @Nullable Picture recorded() {
      return divergence == null ? null : divergence.picture();
    }

    @Nullable Picture now() {
      return divergence == null ? null : divergence.pictureNow();
    }
  }

  /**
   * The runs of a session.
   *
   * @param known whether there is a run to decide, or was one before the time of interest
   */
  private record Session(boolean known, int same, List<Decided> otherwise) {
    static final Session UNKNOWN = new Session(false, 0, List.of());
  }

  WhatIfCheck(FlowCatalog catalog, @Nullable Instant since) {
    this.catalog = catalog;
    this.since = since;
  }

  // --- stores -----------------------------------------------------------------------------------

  WhatIfResult over(OpenStore store, Encryption keys) {
    Encryption encryption = keys.knowing(catalog.secretFields());
    int processors = Runtime.getRuntime().availableProcessors();
    ExecutorService workers =
        Executors.newFixedThreadPool(processors, HandlerThreads.named("fermata-what-if-"));
    Deque<CompletableFuture<Session>> ahead = new ArrayDeque<>();
    try {
      journals(
          store,
          encryption,
          journal -> {
            ahead.add(
                CompletableFuture.supplyAsync(() -> session(store, encryption, journal), workers));
            if (ahead.size() > AHEAD * processors) {
              count(Stages.now(ahead.remove()));
            }
          });
      while (!ahead.isEmpty()) {
        count(Stages.now(ahead.remove()));
      }
    } finally {
      workers.shutdownNow();
    }
    return result();
  }

  private void journals(OpenStore store, Encryption encryption, Consumer<String> each) {
    RunJournals journals = new RunJournals(store, encryption);
    if (since == null) {
      journals.all(page -> page.forEach(each));
    } else {
      journals.activeSince(since.toEpochMilli(), page -> page.forEach(each));
    }
  }

  private Session session(OpenStore store, Encryption encryption, String journal) {
    String flow = SessionKey.flowOf(journal);
    if (!catalog.has(flow)) {
      return Session.UNKNOWN;
    }
    try {
      SessionRuns runs = new SessionRuns(flow);
      List<StoredEntry> records = Stages.now(store.read(journal, 1, ENTRIES));
      while (!records.isEmpty()) {
        for (StoredEntry stored : records) {
          runs.add(RunEvents.of(encryption.read(journal, stored)));
        }
        boolean last = records.size() < ENTRIES;
        long next = records.get(records.size() - 1).seq() + 1;
        records = last ? List.of() : Stages.now(store.read(journal, next, ENTRIES));
      }
      return runs.decided();
    } catch (NotSerializableException | EncryptionException unreadable) {
      return Session.UNKNOWN;
    }
  }

  /** Decides the runs of a session as they pass; of swept ones only the end is left. */
  private final class SessionRuns {
    private final String flow;
    private final List<Decided> otherwise = new ArrayList<>();
    private List<RunJournal.Entry> entries = new ArrayList<>();
    private String run = "";
    private boolean known;
    private int same;

    SessionRuns(String flow) {
      this.flow = flow;
    }

    void add(RunJournal.Entry entry) {
      List<Event> events = new ArrayList<>();
      for (Event event : entry.events()) {
        if (event instanceof Event.Started started) {
          keep(entry, events);
          decide();
          events = new ArrayList<>();
          run = started.runId();
          known = true;
        }
        events.add(event);
      }
      keep(entry, events);
    }

    private void keep(RunJournal.Entry entry, List<Event> events) {
      if (!run.isEmpty() && !events.isEmpty()) {
        entries.add(
            new RunJournal.Entry(entry.seq(), entry.at(), entry.by(), entry.principal(), events));
      }
    }

    private void decide() {
      RunJournal journal = new RunJournal(flow, run, entries);
      entries = new ArrayList<>();
      Decided decided = recent(journal) ? WhatIfCheck.this.decide(journal) : null;
      if (decided != null && decided.changes().isEmpty()) {
        same++;
      } else if (decided != null) {
        otherwise.add(decided);
      }
    }

    Session decided() {
      decide();
      return new Session(known, same, otherwise);
    }
  }

  // --- exports ----------------------------------------------------------------------------------

  WhatIfResult over(Iterator<RunJournal> runs) {
    while (runs.hasNext()) {
      RunJournal journal = runs.next();
      boolean known = catalog.has(journal.flow());
      Decided decided = known && recent(journal) ? decide(journal) : null;
      if (decided == null) {
        skipped += known ? 0 : 1;
      } else if (decided.changes().isEmpty()) {
        same++;
      } else {
        count(decided);
      }
    }
    return result();
  }

  // --- one run ----------------------------------------------------------------------------------

  /** Whether it has entries, and has changed since the time of interest. */
  private boolean recent(RunJournal journal) {
    for (int i = journal.entries().size() - 1; i >= 0; i--) {
      for (Event event : journal.entries().get(i).events()) {
        if (since == null || event.at() >= since.toEpochMilli()) {
          return true;
        }
      }
    }
    return false;
  }

  private Decided decide(RunJournal journal) {
    Flow<?> flow = catalog.newest(journal.flow()).flow();
    try {
      Replay replay = Replay.of(flow, journal);
      List<Change> all = new ArrayList<>(replay.changes());
      String stranded = stranded(journal.flow(), journal.state());
      if (stranded != null) {
        String from = "from version " + journal.state().version();
        all.add(new Change(Change.Kind.MIGRATION, "", from));
      }
      return new Decided(flow, journal, replay.divergence(), all, stranded);
    } catch (RuntimeException e) {
      // A journal of other code may hold what this code cannot even fold.
      Change change = new Change(Change.Kind.OTHER, "", "cannot be decided again");
      return new Decided(flow, journal, null, List.of(change), "It cannot be decided again: " + e);
    }
  }

  /** Why an unfinished run could not continue; null if it could. */
  private @Nullable String stranded(String flow, RunState run) {
    if (!run.running() || catalog.of(flow, run).isPresent()) {
      return null;
    }
    FlowVersions versions = catalog.versions(flow);
    Optional<FlowProgram<?>> heir = versions.takingOver(run);
    if (heir.isEmpty()) {
      return versions.changed(run).message();
    }
    return heir.get().migrate(run, run.changedAt()) instanceof Program.Refused<Event> refused
        ? refused.failure().message()
        : null;
  }

  // --- counting ---------------------------------------------------------------------------------

  private void count(Session session) {
    same += session.same();
    skipped += session.known() ? 0 : 1;
    session.otherwise().forEach(this::count);
  }

  private void count(Decided decided) {
    String flow = decided.flow().id();
    String run = decided.journal().runId();
    for (Change change : decided.changes()) {
      changes.merge(
          List.of(flow, change),
          new WhatIfResult.Count(flow, change, 1, run),
          (first, one) -> new WhatIfResult.Count(flow, change, first.runs() + 1, first.example()));
    }
    boolean parts = decided.divergence() != null;
    List<String> place = List.of(flow, decided.node(), parts ? "parts" : "cannot continue");
    WhatIfResult.Example known = examples.get(place);
    examples.put(place, known == null ? example(decided) : known.oneMore());
  }

  private static WhatIfResult.Example example(Decided decided) {
    return new WhatIfResult.Example(
        decided.flow().id(),
        decided.node(),
        1,
        decided.journal().runId(),
        decided.text(),
        decided.recorded(),
        decided.now());
  }

  private WhatIfResult result() {
    List<WhatIfResult.Count> counts = new ArrayList<>(changes.values());
    counts.sort(
        Comparator.comparing(WhatIfResult.Count::runs)
            .reversed()
            .thenComparing(count -> count.change().kind()));
    List<WhatIfResult.Example> shown = new ArrayList<>(examples.values());
    shown.sort(Comparator.comparing(WhatIfResult.Example::runs).reversed());
    return new WhatIfResult(same, skipped, counts, shown);
  }
}
