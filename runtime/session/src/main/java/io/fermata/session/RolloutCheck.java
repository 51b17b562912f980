package io.fermata.session;

import io.fermata.flow.Event;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowProgram;
import io.fermata.flow.Program;
import io.fermata.flow.RunState;
import io.fermata.persistence.OpenStore;
import io.fermata.persistence.StoredRecord;
import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads every journal of a store and says what flows would make of its run. It may block. */
final class RolloutCheck {
  private static final int AT_ONCE = 500;

  private final OpenStore store;
  private final Seals seals;
  private final FlowCatalog catalog;
  private final long now;

  RolloutCheck(OpenStore store, Seals seals, FlowCatalog catalog, long now) {
    this.store = store;
    this.seals = seals.knowing(catalog.secretFields());
    this.catalog = catalog;
    this.now = now;
  }

  List<Rollout.Fate> fates() {
    List<Rollout.Fate> fates = new ArrayList<>();
    List<String> journals = Stages.now(store.journals("", AT_ONCE));
    while (!journals.isEmpty()) {
      for (String journal : journals) {
        Rollout.Fate fate = SessionKey.isOfRun(journal) ? fate(journal) : null;
        if (fate != null) {
          fates.add(fate);
        }
      }
      journals = Stages.now(store.journals(journals.get(journals.size() - 1), AT_ONCE));
    }
    return fates;
  }

  /** What becomes of the run in a journal; null if it has ended. */
  private Rollout.@Nullable Fate fate(String journal) {
    String flow = SessionKey.flowOf(journal);
    EntryEncryption encryption = seals.of(journal);
    try {
      RunState run = run(journal, encryption);
      return run.running() ? masked(fate(flow, run), encryption) : null;
    } catch (NotSerializableException | SealException e) {
      return new Rollout.Fate(
          flow, journal, 0, Rollout.Verdict.STRANDED, String.valueOf(e.getMessage()));
    }
  }

  /** A migration may quote in its refusal what the run holds. */
  private static Rollout.Fate masked(Rollout.Fate fate, EntryEncryption encryption) {
    return new Rollout.Fate(
        fate.flow(), fate.runId(), fate.version(), fate.verdict(), encryption.masked(fate.why()));
  }

  private RunState run(String journal, EntryEncryption encryption) throws NotSerializableException {
    List<StoredRecord> last = Stages.now(store.readBack(journal, Long.MAX_VALUE, 1));
    if (last.isEmpty() || seals.read(journal, last.get(0)).end() != null) {
      return RunState.NONE;
    }
    SessionState<RunState> state = SessionState.of(RunState.NONE);
    List<StoredRecord> records = Stages.now(store.read(journal, 1, AT_ONCE));
    while (!records.isEmpty()) {
      for (StoredRecord stored : records) {
        Entry<?> entry = seals.read(journal, stored);
        encryption.learn(entry);
        state = SessionState.replay(state, entry);
      }
      long next = records.get(records.size() - 1).seq() + 1;
      records = Stages.now(store.read(journal, next, AT_ONCE));
    }
    return state.program();
  }

  private Rollout.Fate fate(String flow, RunState run) {
    if (!catalog.has(flow)) {
      return fate(flow, run, Rollout.Verdict.STRANDED, "no flow " + flow + " is registered");
    } else if (catalog.of(flow, run).isPresent()) {
      return fate(flow, run, Rollout.Verdict.CONTINUES, "that version is registered");
    }
    Optional<FlowProgram<?>> heir = catalog.takingOver(flow, run);
    if (heir.isEmpty()) {
      String why = new RunReplies(flow, catalog).versionChanged(run).message();
      return fate(flow, run, Rollout.Verdict.STRANDED, why);
    }
    Program.Acceptance<Event> taken = heir.get().migrate(run, now);
    if (taken instanceof Program.Refused<Event> refused) {
      return fate(flow, run, Rollout.Verdict.STRANDED, refused.failure().message());
    }
    Flow<?> to = heir.get().flow();
    return fate(
        flow, run, Rollout.Verdict.MIGRATES, "it is carried over to version " + to.version());
  }

  private static Rollout.Fate fate(String flow, RunState run, Rollout.Verdict verdict, String why) {
    return new Rollout.Fate(flow, run.runId(), run.version(), verdict, why);
  }
}
