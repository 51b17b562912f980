package io.fermata.session;

import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.RunState;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.SessionState;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.RunJournals;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Reads every journal of a store and checks its run against flows. It may block. */
final class RolloutCheck {
  private final OpenStore store;
  private final Encryption encryption;
  private final FlowCatalog catalog;
  private final ThreadProgram threads;
  private final long now;

  RolloutCheck(
      OpenStore store,
      Encryption encryption,
      FlowCatalog catalog,
      ThreadProgram threads,
      long now) {
    this.store = store;
    this.encryption = encryption.knowing(catalog.secretFields());
    this.catalog = catalog;
    this.threads = threads;
    this.now = now;
  }

  Rollout result() {
    List<Rollout.RunResult> results = new ArrayList<>();
    List<Rollout.ThreadResult> talks = new ArrayList<>();
    RunJournals journals = new RunJournals(store, encryption);
    journals.all(page -> page.stream().flatMap(this::result).forEach(results::add));
    journals.ofThreads(page -> page.stream().flatMap(this::threadResult).forEach(talks::add));
    return new Rollout(results, talks);
  }

  /** The result for the thread in a journal; none if it was deleted. */
  private Stream<Rollout.ThreadResult> threadResult(String journal) {
    ThreadKey key = ThreadKey.ofEntity(journal);
    try {
      ThreadState state = thread(journal);
      if (!state.exists()) {
        return Stream.empty();
      }
      List<String> held = threads.held(state).stream().map(HeldWork::why).toList();
      return Stream.of(new Rollout.ThreadResult(state.agent(), key.threadId(), held));
    } catch (UnreadableEntry | EncryptionException | DamagedException e) {
      List<String> why = List.of(String.valueOf(e.getMessage()));
      return Stream.of(new Rollout.ThreadResult(key.agent(), key.threadId(), why));
    }
  }

  @SuppressWarnings("unchecked") // the entries of a thread
  private ThreadState thread(String journal) {
    return JournalPages.fold(
        store,
        journal,
        ThreadState.NONE,
        (state, stored) -> {
          Entry<ThreadEvent> entry = (Entry<ThreadEvent>) encryption.read(journal, stored);
          return state.apply(entry.events(), entry.seq());
        });
  }

  /** The result for the run in a journal; none if it has ended. */
  private Stream<Rollout.RunResult> result(String journal) {
    String flow = SessionKey.flowOf(journal);
    EntryEncryption entries = encryption.of(journal);
    try {
      RunState run = run(journal, entries);
      return run.running() ? Stream.of(masked(result(flow, run), entries)) : Stream.empty();
    } catch (UnreadableEntry | EncryptionException | DamagedException e) {
      String why = String.valueOf(e.getMessage());
      String run = SessionKey.placeOf(journal);
      return Stream.of(new Rollout.RunResult(flow, run, 0, Rollout.Verdict.STRANDED, why));
    }
  }

  /** The refusal of a migration may quote data of the run. */
  private static Rollout.RunResult masked(Rollout.RunResult result, EntryEncryption entries) {
    return new Rollout.RunResult(
        result.flow(),
        result.runId(),
        result.version(),
        result.verdict(),
        entries.masked(result.why()));
  }

  private RunState run(String journal, EntryEncryption entries) {
    StoredEntry last = JournalPages.last(store, journal);
    if (last == null || encryption.read(journal, last).end() != null) {
      return RunState.NONE;
    }
    return JournalPages.fold(
            store,
            journal,
            SessionState.of(RunState.NONE),
            (state, stored) -> {
              Entry<?> entry = encryption.read(journal, stored);
              entries.learn(entry);
              return SessionState.replay(state, entry);
            })
        .program();
  }

  private Rollout.RunResult result(String flow, RunState run) {
    if (!catalog.has(flow)) {
      return result(flow, run, Rollout.Verdict.STRANDED, "no flow " + flow + " is registered");
    } else if (catalog.of(flow, run).isPresent()) {
      return result(flow, run, Rollout.Verdict.CONTINUES, "that version is registered");
    }
    String stranded = catalog.stranded(flow, run, now);
    if (stranded != null) {
      return result(flow, run, Rollout.Verdict.STRANDED, stranded);
    }
    int to = catalog.versions(flow).takingOver(run).orElseThrow().flow().version();
    return result(flow, run, Rollout.Verdict.MIGRATES, "it is migrated to version " + to);
  }

  private static Rollout.RunResult result(
      String flow, RunState run, Rollout.Verdict verdict, String why) {
    return new Rollout.RunResult(flow, run.runId(), run.version(), verdict, why);
  }
}
