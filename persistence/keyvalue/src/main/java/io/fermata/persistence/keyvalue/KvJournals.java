package io.fermata.persistence.keyvalue;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.spi.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.UnaryOperator;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * The journals of a key-value store. Requests for one journal are served in order, those that wait
 * together in one write; journals do not wait for each other.
 *
 * <p>The latest values are cached with their versions, so a write needs no read. If another process
 * replaced a value, the write fails and the value is read again.
 */
final class KvJournals implements StoreJournals {

  /** The bytes of cached values. */
  private static final long REMEMBERED = 64L * 1024 * 1024;

  private static final long MOMENT = 1_000;
  private static final long FOREVER = Duration.ofDays(36_500).toMillis();

  private final KvCalls kv;
  private final KvIndex index;
  private final Executor executor;
  private final Map<String, Journal> journals = new LinkedHashMap<>(64, 0.75f, true);
  private long remembered;

  KvJournals(KvCalls kv, KvIndex index, Executor executor) {
    this.kv = kv;
    this.index = index;
    this.executor = executor;
  }

  /** A request for a journal. */
  private record Work(
      Kind kind, UnaryOperator<KvDocument> change, CompletableFuture<KvDocument> done) {}

  private enum Kind {
    /** Read the stored value, not the cache. */
    READ,
    CHANGE,
    FORGET
  }

  /** A journal in use; guarded by the map of journals. */
  private static final class Journal {
    final String persistenceId;
    final Deque<Work> waiting = new ArrayDeque<>();
    boolean busy;
    @Nullable KvDocument document;
    @Nullable String version;
    int bytes;

    Journal(String persistenceId) {
      this.persistenceId = persistenceId;
    }
  }

  @Override
  public CompletionStage<@Nullable Void> append(String persistenceId, List<SerializedEntry> write) {
    return changed(persistenceId, document -> document.append(write));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
    return changed(persistenceId, document -> document.deleteTo(to));
  }

  @Override
  public CompletionStage<List<SerializedEntry>> read(
      String persistenceId, long from, long to, long max) {
    return last(persistenceId).thenApply(document -> document.read(persistenceId, from, to, max));
  }

  @Override
  public CompletionStage<JournalTip> tip(String persistenceId) {
    return last(persistenceId).thenApply(KvDocument::tip);
  }

  /** A session that wakes starts with this, so the stored value is read. */
  @Override
  public CompletionStage<Optional<SerializedSnapshot>> snapshot(
      String persistenceId, SnapshotSelectionCriteria wanted) {
    return read(persistenceId)
        .thenApply(document -> document.snapshot(snapshot -> wanted.matches(snapshot.key())));
  }

  @Override
  public CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot) {
    return changed(snapshot.key().persistenceId(), document -> document.save(snapshot));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted) {
    return changed(
        persistenceId,
        document -> document.deleteSnapshots(snapshot -> unwanted.matches(snapshot.key())));
  }

  private CompletionStage<@Nullable Void> changed(
      String persistenceId, UnaryOperator<KvDocument> change) {
    return change(persistenceId, change).thenAccept(document -> {});
  }

  /** The journal as stored now. */
  CompletionStage<KvDocument> read(String persistenceId) {
    return submit(persistenceId, Kind.READ, document -> document);
  }

  /** The journal as this process last wrote or read it. */
  CompletionStage<KvDocument> last(String persistenceId) {
    return submit(persistenceId, Kind.CHANGE, document -> document);
  }

  /** Changes a journal. Completes when the change is stored. */
  CompletionStage<KvDocument> change(String persistenceId, UnaryOperator<KvDocument> change) {
    return submit(persistenceId, Kind.CHANGE, change);
  }

  CompletionStage<KvDocument> forget(String persistenceId) {
    return submit(persistenceId, Kind.FORGET, document -> KvDocument.NONE);
  }

  private CompletionStage<KvDocument> submit(
      String persistenceId, Kind kind, UnaryOperator<KvDocument> change) {
    CompletableFuture<KvDocument> done = new CompletableFuture<>();
    synchronized (journals) {
      Journal journal = journals.computeIfAbsent(persistenceId, Journal::new);
      journal.waiting.add(new Work(kind, change, done));
      if (!journal.busy) {
        journal.busy = true;
        executor.execute(() -> go(journal));
      }
    }
    return done;
  }

  private void go(Journal journal) {
    List<Work> batch = new ArrayList<>();
    KvDocument known;
    synchronized (journals) {
      Work first = journal.waiting.peek();
      if (first == null) {
        journal.busy = false;
        makeRoom(journal);
        return;
      }
      do {
        batch.add(journal.waiting.remove());
      } while (first.kind() != Kind.FORGET
          && !journal.waiting.isEmpty()
          && journal.waiting.element().kind() != Kind.FORGET);
      boolean fresh = batch.stream().anyMatch(work -> work.kind() == Kind.READ);
      known = fresh ? null : journal.document;
    }
    if (batch.get(0).kind() == Kind.FORGET) {
      forget(journal, batch);
    } else if (known != null) {
      apply(journal, known, batch);
    } else {
      kv.get(key(journal))
          .thenApplyAsync(found -> loaded(journal, found), executor)
          .whenComplete(
              (document, thrown) -> {
                if (thrown != null) {
                  lost(journal, batch, thrown);
                } else {
                  apply(journal, document, batch);
                }
              });
    }
  }

  private static String key(Journal journal) {
    return "journal:" + journal.persistenceId;
  }

  private KvDocument loaded(Journal journal, Optional<KvStore.Versioned> found) {
    KvDocument document =
        found
            .map(value -> KvFormat.journal(journal.persistenceId, value.value()))
            .orElse(KvDocument.NONE);
    remember(
        journal,
        document,
        found.map(KvStore.Versioned::version).orElse(null),
        found.map(value -> value.value().length).orElse(0));
    index.settled(journal.persistenceId, document.demand());
    return document;
  }

  private void apply(Journal journal, KvDocument before, List<Work> batch) {
    KvDocument after = before;
    List<Work> applied = new ArrayList<>();
    for (Work work : batch) {
      try {
        after = work.change().apply(after);
        applied.add(work);
      } catch (RuntimeException refused) {
        work.done().completeExceptionally(refused);
      }
    }
    if (after.equals(before)) {
      completed(journal, applied, after);
    } else {
      write(journal, after, applied);
    }
  }

  private void write(Journal journal, KvDocument after, List<Work> applied) {
    byte[] bytes = KvFormat.journal(after);
    String expected;
    synchronized (journals) {
      expected = journal.version;
    }
    index
        .require(journal.persistenceId, after.demand())
        .thenComposeAsync(
            marked -> kv.set(key(journal), bytes, expected, timeToLive(after)), executor)
        .whenCompleteAsync(
            (won, thrown) -> {
              if (thrown != null) {
                lost(journal, applied, thrown);
              } else if (won.isEmpty()) {
                lost(journal, applied, overtaken(journal));
              } else {
                remember(journal, after, won.get(), bytes.length);
                index.settled(journal.persistenceId, after.demand());
                completed(journal, applied, after);
              }
            },
            executor);
  }

  /**
   * At least a moment, so that the writer gets its acknowledgement; null if it is practically
   * forever.
   */
  private static @Nullable Duration timeToLive(KvDocument document) {
    long forgetAt = document.forgetAt().orElse(Long.MAX_VALUE);
    long left = Math.max(MOMENT, forgetAt - System.currentTimeMillis());
    return left > FOREVER ? null : Duration.ofMillis(left);
  }

  private StoreException overtaken(Journal journal) {
    return new StoreException(
        "Another process wrote "
            + journal.persistenceId
            + " in "
            + kv.name()
            + " meanwhile, so nothing was written. The session recovers from the current"
            + " value; retry");
  }

  private void forget(Journal journal, List<Work> batch) {
    kv.delete(key(journal))
        .whenCompleteAsync(
            (done, thrown) -> {
              if (thrown != null) {
                lost(journal, batch, thrown);
              } else {
                remember(journal, KvDocument.NONE, null, 0);
                index.settled(journal.persistenceId, KvDocument.NOTHING);
                completed(journal, batch, KvDocument.NONE);
              }
            },
            executor);
  }

  private void completed(Journal journal, List<Work> batch, KvDocument document) {
    batch.forEach(work -> work.done().complete(document));
    executor.execute(() -> go(journal));
  }

  /** After a failure the stored value is unknown until it is read. */
  private void lost(Journal journal, List<Work> batch, Throwable thrown) {
    remember(journal, null, null, 0);
    index.doubted(journal.persistenceId);
    batch.forEach(work -> work.done().completeExceptionally(thrown));
    executor.execute(() -> go(journal));
  }

  private void remember(
      Journal journal, @Nullable KvDocument document, @Nullable String version, int bytes) {
    synchronized (journals) {
      remembered += bytes - journal.bytes;
      journal.document = document;
      journal.version = version;
      journal.bytes = bytes;
    }
  }

  private void makeRoom(Journal idle) {
    if (idle.document == null || idle.version == null) {
      remember(idle, null, null, 0);
      journals.remove(idle.persistenceId);
    }
    Iterator<Journal> leastUsedFirst = journals.values().iterator();
    while (remembered > REMEMBERED && leastUsedFirst.hasNext()) {
      Journal journal = leastUsedFirst.next();
      if (!journal.busy) {
        remember(journal, null, null, 0);
        leastUsedFirst.remove();
      }
    }
  }
}
