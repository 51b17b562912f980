package io.fermata.session;

import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.HeldWork;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Program;
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
import io.fermata.session.key.Stages;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.run.RunReplies;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads every journal of a store and checks its run against flows. It may block. */
final class RolloutCheck {
  private static final int AT_ONCE = 500;

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
    List<String> journals = Stages.now(store.journals("", AT_ONCE));
    while (!journals.isEmpty()) {
      for (String journal : journals) {
        Rollout.RunResult result = SessionKey.isOfRun(journal) ? result(journal) : null;
        if (result != null) {
          results.add(result);
        }
        String agent = SessionKey.agentOf(journal);
        Rollout.ThreadResult talk = agent == null ? null : thread(journal, agent);
        if (talk != null) {
          talks.add(talk);
        }
      }
      journals = Stages.now(store.journals(journals.get(journals.size() - 1), AT_ONCE));
    }
    return new Rollout(results, talks);
  }

  /** The result for the thread in a journal; null if it was deleted. */
  private Rollout.@Nullable ThreadResult thread(String journal, String agent) {
    String threadId = ThreadKey.ofEntity(journal).threadId();
    try {
      ThreadState state = thread(journal);
      return state.exists()
          ? new Rollout.ThreadResult(
              state.agent(), threadId, threads.held(state).stream().map(HeldWork::why).toList())
          : null;
    } catch (UnreadableEntry | EncryptionException | DamagedException e) {
      return new Rollout.ThreadResult(agent, threadId, List.of(String.valueOf(e.getMessage())));
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

  /** The result for the run in a journal; null if it has ended. */
  private Rollout.@Nullable RunResult result(String journal) {
    String flow = SessionKey.flowOf(journal);
    EntryEncryption entries = encryption.of(journal);
    try {
      RunState run = run(journal, entries);
      return run.running() ? masked(result(flow, run), entries) : null;
    } catch (UnreadableEntry | EncryptionException | DamagedException e) {
      return new Rollout.RunResult(
          flow, journal, 0, Rollout.Verdict.STRANDED, String.valueOf(e.getMessage()));
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
    Optional<FlowProgram<?>> heir = catalog.versions(flow).takingOver(run);
    if (heir.isEmpty()) {
      String why = new RunReplies(flow, catalog).versionChanged(run).message();
      return result(flow, run, Rollout.Verdict.STRANDED, why);
    }
    Program.Acceptance<Event> taken = heir.get().migrate(run, now);
    if (taken instanceof Program.Refused<Event> refused) {
      return result(flow, run, Rollout.Verdict.STRANDED, refused.failure().message());
    }
    Flow<?> to = heir.get().flow();
    return result(flow, run, Rollout.Verdict.MIGRATES, "it is migrated to version " + to.version());
  }

  private static Rollout.RunResult result(
      String flow, RunState run, Rollout.Verdict verdict, String why) {
    return new Rollout.RunResult(flow, run.runId(), run.version(), verdict, why);
  }
}
