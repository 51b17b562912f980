package io.fermata.session.runs;

import io.fermata.flow.event.RunState;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Written;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.RunEnd;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads the runs in the journals of sessions, without waking them. */
public final class RunJournals {
  private static final int PAGE = 200;

  private final OpenStore store;
  private final Encryption encryption;

  public RunJournals(OpenStore store, Encryption encryption) {
    this.store = store;
    this.encryption = encryption;
  }

  /** An ended run, and until when its journal is kept. */
  record End(RunRow row, long keptUntil) {}

  /**
   * The runs of a journal.
   *
   * @param seq the sequence number of its last entry, 0 for none
   * @param live the unfinished run
   * @param ended the ended runs that are still in the journal
   */
  record JournalRuns(String entityId, long seq, @Nullable RunRow live, List<End> ended) {}

  /**
   * The journals of any kind that were written between two entries, in batches; in a cluster those
   * of the shards that this host holds.
   */
  void writtenSince(
      long after, long until, Predicate<Written> wanted, Consumer<List<String>> portion) {
    writtenSince(reached -> store.written(reached, PAGE), after, until, wanted, portion);
  }

  private static void writtenSince(
      LongFunction<CompletionStage<List<Written>>> read,
      long after,
      long until,
      Predicate<Written> wanted,
      Consumer<List<String>> portion) {
    long reached = after;
    while (reached < until) {
      List<Written> page = Stages.now(read.apply(reached));
      if (page.isEmpty()) {
        return;
      }
      portion.accept(page.stream().filter(wanted).map(Written::persistenceId).toList());
      reached = page.get(page.size() - 1).number();
    }
  }

  /**
   * The journals of sessions with a run that has changed since then, in batches, from the directory
   * and what any host wrote after its mark. There may be others among them, and none is left out.
   */
  public void activeSince(long epochMillis, Consumer<List<String>> portion) {
    // A run that changes while the directory is read may be on no page, and is written after this.
    long mark = Stages.now(store.directory().marked());
    Set<String> known = new HashSet<>();
    DirectoryQuery query =
        DirectoryQuery.of(RunRow.KIND).orderedBy(DirectoryQuery.Order.ACTIVITY).limitedTo(PAGE);
    String cursor = null;
    do {
      DirectoryPage page = Stages.now(store.directory().list(query.after(cursor)));
      List<DirectoryEntry> active =
          page.entries().stream().filter(entry -> entry.activeAt() >= epochMillis).toList();
      portion.accept(
          active.stream()
              .map(DirectoryEntry::persistenceId)
              .map(RunRow::session)
              .filter(known::add)
              .toList());
      cursor = active.size() == page.entries().size() ? page.next() : null;
    } while (cursor != null);
    writtenSince(
        reached -> store.writtenByAny(reached, PAGE),
        mark,
        Long.MAX_VALUE,
        written ->
            SessionKey.isOfRun(written.persistenceId()) && known.add(written.persistenceId()),
        portion);
  }

  /** All journals of sessions, in batches. */
  public void all(Consumer<List<String>> portion) {
    pages(page -> portion.accept(ofRuns(page)));
  }

  /** All journals of threads, in batches. */
  public void ofThreads(Consumer<List<String>> portion) {
    pages(page -> portion.accept(ofThreads(page)));
  }

  private void pages(Consumer<List<String>> each) {
    String last = "";
    while (true) {
      List<String> page = Stages.now(store.journals(last, PAGE));
      if (page.isEmpty()) {
        return;
      }
      each.accept(page);
      last = page.get(page.size() - 1);
    }
  }

  static List<String> ofRuns(List<String> journals) {
    return journals.stream().filter(SessionKey::isOfRun).toList();
  }

  static List<String> ofThreads(List<String> journals) {
    return journals.stream().filter(id -> SessionKey.agentOf(id) != null).toList();
  }

  /** The sequence number of a journal's last entry; 0 for none. */
  CompletionStage<Long> lastSeq(String entityId) {
    return store
        .readBack(entityId, Long.MAX_VALUE, 1)
        .thenApply(last -> last.isEmpty() ? 0 : last.get(0).seq());
  }

  CompletionStage<JournalRuns> read(String entityId) {
    return JournalPages.foldAsync(
            store,
            entityId,
            1,
            new Fold(entityId),
            (fold, stored) -> fold.add(stored.seq(), encryption.read(entityId, stored)),
            Runnable::run)
        .thenApply(Fold::runs);
  }

  /** Folds a journal in constant memory. */
  private static final class Fold {
    private final String entityId;
    private final String flow;
    private final List<End> ended = new ArrayList<>();
    private SessionState<RunState> state = SessionState.of(RunState.NONE);
    private long seq;

    Fold(String entityId) {
      this.entityId = entityId;
      this.flow = SessionKey.flowOf(entityId);
    }

    Fold add(long number, Entry<?> entry) {
      seq = number;
      SessionState<RunState> before = state;
      state = SessionState.replay(before, entry);
      RunEnd end = entry.end();
      if (end != null && began(before, end)) {
        RunState last = end.last(before.program(), entry.at());
        ended.add(new End(new RunRow(flow, last, before.owner(), seq), end.keptUntil()));
      }
      return this;
    }

    /** Whether this ends the run before it; a fetched outcome writes the end again. */
    private static boolean began(SessionState<RunState> before, RunEnd end) {
      return before.owner() != null && before.program().runId().equals(end.runId());
    }

    JournalRuns runs() {
      RunState run = state.program();
      RunRow live = run.running() ? new RunRow(flow, run, state.owner(), seq) : null;
      return new JournalRuns(entityId, seq, live, List.copyOf(ended));
    }
  }
}
