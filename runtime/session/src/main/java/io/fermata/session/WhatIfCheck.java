package io.fermata.session;

import io.fermata.agent.Agent;
import io.fermata.agent.replay.ThreadDivergence;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplayer;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Limits;
import io.fermata.flow.replay.Change;
import io.fermata.flow.replay.Divergence;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.OtherDecision;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.replay.RunReplayer;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.RunJournals;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Decides runs again. Sessions are read and decided on several processors, a few at a time, and
 * counted in their order.
 */
final class WhatIfCheck {
  private static final int AHEAD = 8;

  /** How many entries of a run are kept. */
  private static final int KEPT = 1_000;

  /** Of how many runs it is shown on what they decide otherwise. */
  private static final int SHOWN = 3;

  private final FlowCatalog catalog;
  private final List<Agent> agents;
  private final Limits limits;
  private final @Nullable Instant since;

  // --- used by the calling thread only

  private final Map<List<Object>, WhatIfResult.Count> changes = new LinkedHashMap<>();
  private final Map<List<String>, WhatIfResult.Example> examples = new LinkedHashMap<>();
  private final Map<List<String>, WhatIfResult.Uncompared> uncompared = new LinkedHashMap<>();
  private final Map<Class<?>, WhatIfResult.Unread> unread = new LinkedHashMap<>();
  private int same;
  private int skipped;

  /**
   * A run or a thread that was decided again.
   *
   * @param name the flow, or the agent
   * @param uncompared from where on it was not compared; null if that is nowhere
   * @param parts whether it parts from its journal
   * @param divergence how a run does; null if it does not, and for a thread, as the entries with
   *     which it could be drawn have passed
   * @param text what a person may read of it
   */
  private record Decided(
      String name,
      String id,
      List<Change> changes,
      Replay.@Nullable Uncompared uncompared,
      boolean parts,
      String node,
      @Nullable Divergence divergence,
      Supplier<String> text) {

    /** Whether it is decided as it was. */
    boolean same() {
      return changes.isEmpty() && uncompared == null;
    }

    /** The decisions among the changes. */
    List<OtherDecision> decisions() {
      return divergence == null ? List.of() : divergence.decisions();
    }
  }

  /**
   * The runs of a session.
   *
   * @param known whether there is a run to decide, or was one before the time of interest
   * @param otherwise the runs that are not decided as they were, or not compared as a whole
   */
  private record Session(
      boolean known, int same, List<Decided> otherwise, @Nullable Unreadable unreadable) {
    static final Session UNKNOWN = new Session(false, 0, List.of());

    Session(boolean known, int same, List<Decided> otherwise) {
      this(known, same, otherwise, null);
    }

    static Session unread(String journal, Exception why) {
      return new Session(true, 0, List.of(), new Unreadable(journal, why));
    }
  }

  /** Why a session could not be read. */
  private record Unreadable(String journal, Exception why) {}

  WhatIfCheck(FlowCatalog catalog, List<Agent> agents, Limits limits, @Nullable Instant since) {
    this.catalog = catalog;
    this.agents = agents;
    this.limits = limits;
    this.since = since;
  }

  // --- stores -----------------------------------------------------------------------------------

  /**
   * Looks at a store.
   *
   * @param processors how many are used
   * @param open is asked for every journal whether to continue, and fails if not
   */
  WhatIfResult over(OpenStore store, Encryption keys, int processors, Runnable open) {
    Encryption encryption = keys.knowing(catalog.secretFields());
    ExecutorService workers =
        Executors.newFixedThreadPool(processors, HandlerThreads.named("fermata-what-if-"));
    Deque<CompletableFuture<Session>> ahead = new ArrayDeque<>();
    try {
      journals(
          store,
          encryption,
          journal -> {
            open.run();
            ahead.add(
                CompletableFuture.supplyAsync(() -> session(store, encryption, journal), workers));
            if (ahead.size() > AHEAD * processors) {
              count(Stages.now(ahead.remove()));
            }
          });
      while (!ahead.isEmpty()) {
        open.run();
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
    journals.ofThreads(page -> page.forEach(each));
  }

  private Session session(OpenStore store, Encryption encryption, String journal) {
    if (!SessionKey.isOfRun(journal)) {
      return thread(store, encryption, journal);
    }
    String flow = SessionKey.flowOf(journal);
    if (!catalog.has(flow)) {
      return Session.UNKNOWN;
    }
    EntriesOfRun again =
        (from, to) -> JournalPages.entries(store, encryption, journal, from, to, Entry::ofRun);
    try {
      return JournalPages.fold(
              store,
              journal,
              new SessionRuns(flow, again),
              (runs, stored) -> runs.add(encryption.read(journal, stored).ofRun()))
          .decided();
    } catch (UnreadableEntry | EncryptionException | DamagedException unreadable) {
      return Session.unread(journal, unreadable);
    }
  }

  // --- threads ----------------------------------------------------------------------------------

  private Session thread(OpenStore store, Encryption encryption, String journal) {
    ThreadKey key = ThreadKey.ofEntity(journal);
    if (!known(key.agent())) {
      return Session.UNKNOWN;
    }
    try {
      return JournalPages.fold(
              store,
              journal,
              new DecidedEntries(
                  key.agent(), key.threadId(), JournalPages.earlier(store, encryption, journal)),
              (decided, stored) -> decided.add(encryption.read(journal, stored).ofThread()))
          .session();
    } catch (UnreadableEntry
        | EncryptionException
        | ArchiveException
        | DamagedException unreadable) {
      return Session.unread(journal, unreadable);
    }
  }

  private boolean known(String agent) {
    return agents.stream().anyMatch(each -> each.name().equals(agent));
  }

  private Session decided(ThreadJournal journal) {
    DecidedEntries decided =
        new DecidedEntries(journal.agent(), journal.threadId(), journal.earlier());
    journal.entries().forEach(decided::add);
    return decided.session();
  }

  /** Decides the entries of a thread as they pass. */
  private final class DecidedEntries {
    private final String agent;
    private final String threadId;
    private final ThreadReplayer replayer;
    private @Nullable RuntimeException failed;
    private long at = Long.MIN_VALUE;

    DecidedEntries(String agent, String threadId, EarlierEntries earlier) {
      this.agent = agent;
      this.threadId = threadId;
      replayer = new ThreadReplayer(agents, catalog.flows(), earlier);
    }

    DecidedEntries add(JournalEntry<ThreadEvent> entry) {
      at = entry.at();
      if (failed == null) {
        try {
          replayer.decide(entry);
        } catch (StoreException | EncryptionException | UnreadableEntry unread) {
          throw unread;
        } catch (RuntimeException e) {
          // A journal of other code may hold what this code cannot even fold.
          failed = e;
        }
      }
      return this;
    }

    Session session() {
      List<ThreadDivergence> divergences = replayer.divergences();
      if (at == Long.MIN_VALUE) {
        return Session.UNKNOWN;
      } else if (since != null && at < since.toEpochMilli()) {
        return new Session(true, 0, List.of());
      } else if (failed != null) {
        Change change = new Change(Change.Kind.OTHER, "", "cannot be decided again");
        return otherwise(List.of(change), replayer.masked("It cannot be decided again: " + failed));
      }
      return divergences.isEmpty()
          ? new Session(true, 1, List.of())
          : otherwise(
              divergences.stream().map(ThreadDivergence::change).toList(),
              divergences.stream().map(ThreadDivergence::text).collect(Collectors.joining("\n")));
    }

    private Session otherwise(List<Change> all, String text) {
      String node = all.get(0).node();
      return new Session(
          true, 0, List.of(new Decided(agent, threadId, all, null, true, node, null, () -> text)));
    }
  }

  // --- the runs of a session --------------------------------------------------------------------

  /** Reads entries of a session once more. */
  private interface EntriesOfRun {
    List<JournalEntry<Event>> read(long from, long to);
  }

  /** Decides the runs of a session as they pass; of swept ones only the end is left. */
  private final class SessionRuns {
    private final String flow;
    private final EntriesOfRun again;
    private final List<Decided> otherwise = new ArrayList<>();
    private @Nullable PassingRun run;
    private int same;

    SessionRuns(String flow, EntriesOfRun again) {
      this.flow = flow;
      this.again = again;
    }

    SessionRuns add(JournalEntry<Event> entry) {
      List<Event> events = new ArrayList<>();
      for (Event event : entry.events()) {
        if (event instanceof Event.Started started) {
          keep(entry, events);
          decide();
          events = new ArrayList<>();
          run = new PassingRun(flow, started.runId());
        }
        events.add(event);
      }
      keep(entry, events);
      return this;
    }

    private void keep(JournalEntry<Event> entry, List<Event> events) {
      if (run != null && !events.isEmpty()) {
        run.add(entry.with(events));
      }
    }

    private void decide() {
      PassingRun passed = run;
      if (passed == null || !passed.recent) {
        return;
      }
      Decided decided = passed.same() ? null : WhatIfCheck.this.decide(passed.journal(again));
      if (decided == null || decided.same()) {
        same++;
      } else {
        otherwise.add(decided);
      }
    }

    Session decided() {
      decide();
      return new Session(run != null, same, otherwise);
    }
  }

  /**
   * A run whose entries pass. Those of a long one are decided at once and not kept; if it is
   * decided otherwise, they are read once more, as what is otherwise depends on all of them.
   */
  private final class PassingRun {
    private final String flow;
    private final String id;
    private final List<JournalEntry<Event>> entries = new ArrayList<>();
    private @Nullable RunReplayer replayer;
    private boolean recent;
    private long last;

    PassingRun(String flow, String id) {
      this.flow = flow;
      this.id = id;
    }

    void add(JournalEntry<Event> entry) {
      recent = recent || recent(entry);
      last = entry.seq();
      if (replayer != null) {
        replayer.decide(entry);
        return;
      }
      entries.add(entry);
      if (entries.size() > KEPT) {
        RunReplayer begun = new RunReplayer(catalog.newest(flow).flow(), limits);
        entries.forEach(begun::decide);
        entries.subList(1, entries.size()).clear();
        replayer = begun;
      }
    }

    /** Whether a long run is decided as it was, and could continue. */
    boolean same() {
      try {
        return replayer != null && replayer.same() && stranded(flow, replayer.state()) == null;
      } catch (RuntimeException e) {
        return false;
      }
    }

    RunJournal journal(EntriesOfRun again) {
      return replayer == null
          ? new RunJournal(flow, id, entries)
          : RunJournal.of(flow, id, again.read(entries.get(0).seq(), last));
    }
  }

  // --- exports ----------------------------------------------------------------------------------

  WhatIfResult over(Iterator<ExportedJournal> exports) {
    while (exports.hasNext()) {
      ExportedJournal exported = exports.next();
      if (exported instanceof ExportedJournal.OfThread thread) {
        ThreadJournal journal = thread.journal().whole();
        count(known(journal.agent()) ? decided(journal) : Session.UNKNOWN);
      } else if (exported instanceof ExportedJournal.OfRun run) {
        count(exported(run.journal().whole()));
      }
    }
    return result();
  }

  private Session exported(RunJournal journal) {
    if (!catalog.has(journal.flow())) {
      return Session.UNKNOWN;
    } else if (journal.entries().stream().noneMatch(this::recent)) {
      return new Session(true, 0, List.of());
    }
    Decided decided = decide(journal);
    return decided.same()
        ? new Session(true, 1, List.of())
        : new Session(true, 0, List.of(decided));
  }

  // --- one run ----------------------------------------------------------------------------------

  /** Whether it was written since the time of interest. */
  private boolean recent(JournalEntry<Event> entry) {
    long from = since == null ? Long.MIN_VALUE : since.toEpochMilli();
    return entry.events().stream().anyMatch(event -> event.at() >= from);
  }

  private Decided decide(RunJournal journal) {
    Flow<?> flow = catalog.newest(journal.flow()).flow();
    try {
      Replay replay = Replay.of(flow, limits, journal);
      List<Change> all = new ArrayList<>(replay.changes());
      String stranded = stranded(journal.flow(), journal.state());
      if (stranded != null) {
        String from = "from version " + journal.state().version();
        all.add(new Change(Change.Kind.MIGRATION, "", from));
      }
      return decided(flow, journal, replay.divergence(), replay.uncompared(), all, stranded);
    } catch (RuntimeException e) {
      // A journal of other code may hold what this code cannot even fold.
      Change change = new Change(Change.Kind.OTHER, "", "cannot be decided again");
      return decided(
          flow, journal, null, null, List.of(change), "It cannot be decided again: " + e);
    }
  }

  private static Decided decided(
      Flow<?> flow,
      RunJournal journal,
      @Nullable Divergence divergence,
      Replay.@Nullable Uncompared uncompared,
      List<Change> changes,
      @Nullable String unfit) {
    Supplier<String> text =
        () -> {
          List<String> parts = new ArrayList<>();
          if (divergence != null) {
            parts.add(divergence.text());
          }
          if (unfit != null) {
            parts.add(unfit);
          }
          if (uncompared != null) {
            parts.add(uncompared.text());
          }
          return journal.secrets(flow.secretFields()).masked(String.join("\n", parts));
        };
    boolean parts = divergence != null;
    String node = divergence == null ? "" : divergence.node();
    return new Decided(
        flow.id(), journal.runId(), changes, uncompared, parts, node, divergence, text);
  }

  private @Nullable String stranded(String flow, RunState run) {
    return catalog.stranded(flow, run, run.changedAt());
  }

  // --- counting ---------------------------------------------------------------------------------

  private void count(Session session) {
    same += session.same();
    skipped += session.known() ? 0 : 1;
    session.otherwise().forEach(this::count);
    Unreadable unreadable = session.unreadable();
    if (unreadable != null) {
      Exception why = unreadable.why();
      String reason = Objects.requireNonNullElse(why.getMessage(), why.toString());
      unread.merge(
          why.getClass(),
          new WhatIfResult.Unread(reason, 1, unreadable.journal()),
          (first, one) -> first.oneMore());
    }
  }

  private void count(Decided decided) {
    String flow = decided.name();
    String run = decided.id();
    Replay.Uncompared rest = decided.uncompared();
    if (decided.changes().isEmpty() && rest != null) {
      uncompared.merge(
          List.of(flow, rest.kind()),
          new WhatIfResult.Uncompared(flow, rest.reason(), 1, run, rest.entry()),
          (first, one) -> first.oneMore());
      return;
    }
    decided.changes().forEach(change -> count(change, decided));
    List<String> place =
        List.of(flow, decided.node(), decided.parts() ? "parts" : "cannot continue");
    WhatIfResult.Example known = examples.get(place);
    examples.put(place, known == null ? example(decided) : known.oneMore());
  }

  private void count(Change change, Decided decided) {
    List<Object> key = List.of(decided.name(), change);
    WhatIfResult.Count known = changes.get(key);
    List<WhatIfResult.DecidedOtherwise> decisions =
        new ArrayList<>(known == null ? List.of() : known.decisions());
    if (change.kind() == Change.Kind.DECISION && decisions.size() < SHOWN) {
      decided.decisions().stream()
          .filter(other -> other.change().equals(change))
          .map(
              other ->
                  new WhatIfResult.DecidedOtherwise(decided.id(), other.recorded(), other.now()))
          .forEach(decisions::add);
    }
    changes.put(
        key,
        new WhatIfResult.Count(
            decided.name(),
            change,
            known == null ? 1 : known.runs() + 1,
            known == null ? decided.id() : known.example(),
            decisions));
  }

  private static WhatIfResult.Example example(Decided decided) {
    Divergence divergence = decided.divergence();
    return new WhatIfResult.Example(
        decided.name(),
        decided.node(),
        1,
        decided.id(),
        decided.text().get(),
        divergence == null ? null : divergence.picture(),
        divergence == null ? null : divergence.pictureNow());
  }

  private WhatIfResult result() {
    List<WhatIfResult.Count> counts = new ArrayList<>(changes.values());
    counts.sort(
        Comparator.comparing(WhatIfResult.Count::runs)
            .reversed()
            .thenComparing(count -> count.change().kind()));
    List<WhatIfResult.Example> shown = new ArrayList<>(examples.values());
    shown.sort(Comparator.comparing(WhatIfResult.Example::runs).reversed());
    return new WhatIfResult(
        same,
        skipped,
        List.copyOf(unread.values()),
        List.copyOf(uncompared.values()),
        counts,
        shown);
  }
}
