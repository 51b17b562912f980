package io.fermata.persistence.keyvalue;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.spi.DamagedException;
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
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * The journals of a key-value store. Requests for one journal are served in order, those that wait
 * together in one write; journals do not wait for each other.
 *
 * <p>A session that wakes reads its value once. The latest values are cached with their versions,
 * so a write needs no read where the store compares. If another process replaced a value, the write
 * fails and the value is read again. Snapshots and entries of the directory can be lost, so they
 * are stored with the next record.
 */
final class KvJournals implements StoreJournals {

  /** What the keys of journals begin with. */
  static final String KEY = "journal:";

  /** The bytes of cached values. */
  private static final long REMEMBERED = 64L * 1024 * 1024;

  /** What a cached value takes besides its bytes. */
  private static final int OVERHEAD = 512;

  /** How long a read replaces the one before a write, where the store cannot compare. */
  private static final long RECENT_NANOS = Duration.ofSeconds(10).toNanos();

  private static final long MOMENT = 1_000;
  private static final long FOREVER = Duration.ofDays(36_500).toMillis();

  private final KvCalls kv;
  private final KvIndex index;
  private final Executor executor;
  private final Map<String, Journal> journals = new LinkedHashMap<>(64, 0.75f, true);

  /** What was asked for and is not done. */
  private final Set<Work> asked = ConcurrentHashMap.newKeySet();

  private long remembered;

  KvJournals(KvCalls kv, KvIndex index, Executor executor) {
    this.kv = kv;
    this.index = index;
    this.executor = executor;
  }

  /** The journal does not exist, as its name was just generated. */
  void expectNew(String persistenceId) {
    synchronized (journals) {
      journals.computeIfAbsent(persistenceId, Journal::new).expectedNew = true;
    }
  }

  /** A request for a journal. */
  private record Work(
      Kind kind, UnaryOperator<KvDocument> change, CompletableFuture<KvDocument> done) {}

  private enum Kind {
    /** Read the stored value, not the cache. */
    WAKE,
    /** Read the cache if there is a value in it. */
    READ,
    CHANGE,
    /** A change that may be stored with a later one. */
    ASIDE,
    FORGET
  }

  /** A journal in use; guarded by the map of journals. */
  private static final class Journal {
    final String persistenceId;
    final Deque<Work> waiting = new ArrayDeque<>();
    boolean busy;
    boolean expectedNew;
    @Nullable KvDocument document;
    @Nullable String version;
    @Nullable Long readAt;
    int bytes;

    Journal(String persistenceId) {
      this.persistenceId = persistenceId;
    }
  }

  @Override
  public CompletionStage<@Nullable Void> append(
      String persistenceId, List<SerializedEntry> write, long incarnation) {
    return changed(persistenceId, document -> document.append(write));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
    return changed(persistenceId, document -> document.deleteTo(to));
  }

  @Override
  public CompletionStage<List<SerializedEntry>> read(
      String persistenceId, long from, long to, long max) {
    return known(persistenceId).thenApply(document -> document.read(persistenceId, from, to, max));
  }

  @Override
  public CompletionStage<JournalTip> tip(String persistenceId) {
    return known(persistenceId).thenApply(KvDocument::tip);
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
    return submit(snapshot.persistenceId(), Kind.ASIDE, document -> document.save(snapshot))
        .thenAccept(document -> {});
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
    return submit(persistenceId, Kind.WAKE, document -> document);
  }

  /** The journal as this process last wrote or read it, if it was there then. */
  CompletionStage<KvDocument> last(String persistenceId) {
    return submit(persistenceId, Kind.READ, document -> document);
  }

  /** The journal, or its absence, as this process last wrote or read it. */
  private CompletionStage<KvDocument> known(String persistenceId) {
    return submit(persistenceId, Kind.CHANGE, document -> document);
  }

  /** Adds an entry of the directory. The first is stored at once. */
  CompletionStage<KvDocument> list(String persistenceId, DirectoryEntry entry) {
    return submit(persistenceId, Kind.ASIDE, document -> document.list(entry));
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
    return kv.whileOpen(() -> enqueue(persistenceId, kind, change));
  }

  private CompletionStage<KvDocument> enqueue(
      String persistenceId, Kind kind, UnaryOperator<KvDocument> change) {
    Work work = new Work(kind, change, new CompletableFuture<>());
    asked.add(work);
    synchronized (journals) {
      Journal journal = journals.computeIfAbsent(persistenceId, Journal::new);
      journal.waiting.add(work);
      if (!journal.busy) {
        journal.busy = true;
        executor.execute(() -> go(journal));
      }
    }
    return work.done().whenComplete((document, thrown) -> asked.remove(work));
  }

  /** Completes when nothing is under way. */
  CompletableFuture<@Nullable Void> idle() {
    return CompletableFuture.allOf(asked.stream().map(Work::done).toArray(CompletableFuture[]::new))
        .handle((done, failed) -> null);
  }

  /** Nothing is answered any more. */
  void abandon() {
    asked.forEach(work -> work.done().completeExceptionally(kv.closed()));
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
      known = known(journal, batch);
    }
    if (batch.get(0).kind() == Kind.FORGET) {
      forget(journal, batch);
    } else if (known != null) {
      serve(journal, known, batch);
    } else {
      kv.get(key(journal))
          .exceptionally(
              thrown -> {
                throw failure(journal, thrown);
              })
          .thenApplyAsync(found -> loaded(journal, found), executor)
          .whenComplete(
              (document, thrown) -> {
                if (thrown != null) {
                  lost(journal, batch, thrown);
                } else {
                  serve(journal, document, batch);
                }
              });
    }
  }

  /** The value if it need not be read. */
  private @Nullable KvDocument known(Journal journal, List<Work> batch) {
    if (journal.expectedNew) {
      journal.expectedNew = false;
      remember(journal, KvDocument.NONE, null, 0, System.nanoTime());
      return journal.document;
    }
    boolean wakes = batch.stream().anyMatch(work -> work.kind() == Kind.WAKE);
    boolean reads = batch.stream().anyMatch(work -> work.kind() == Kind.READ);
    return wakes || (reads && journal.version == null) ? null : journal.document;
  }

  private static String key(Journal journal) {
    return KEY + journal.persistenceId;
  }

  /** A value of another type concerns its journal, not the store. */
  private static StoreException failure(Journal journal, Throwable thrown) {
    StoreException failed = (StoreException) StoreFailures.of(thrown);
    return failed.getCause() instanceof KvCalls.Foreign
        ? DamagedException.ofJournal(
            journal.persistenceId,
            "its key has a value of another type, which Fermata did not write")
        : failed;
  }

  private KvDocument loaded(Journal journal, Optional<KvStore.Versioned> found) {
    KvDocument document = found.map(value -> read(journal, value)).orElse(KvDocument.NONE);
    remember(
        journal,
        document,
        found.map(KvStore.Versioned::version).orElse(null),
        found.map(value -> value.value().length).orElse(0),
        System.nanoTime());
    index.settled(journal.persistenceId, document.demand());
    return document;
  }

  /** What waits for the next record stays, unless another process wrote the value. */
  private KvDocument read(Journal journal, KvStore.Versioned found) {
    synchronized (journals) {
      KvDocument cached = journal.document;
      if (cached != null && found.version().equals(journal.version)) {
        return cached;
      }
    }
    return KvFormat.journal(journal.persistenceId, found.value());
  }

  private void serve(Journal journal, KvDocument known, List<Work> batch) {
    try {
      apply(journal, known, batch);
    } catch (RuntimeException | Error failed) {
      // The journal stays usable, as when the store fails.
      lost(journal, batch, failed);
    }
  }

  private void apply(Journal journal, KvDocument before, List<Work> batch) {
    KvDocument after = before;
    boolean pressing = false;
    List<Work> applied = new ArrayList<>();
    for (Work work : batch) {
      try {
        KvDocument next = work.change().apply(after);
        boolean listed = after.entry() == null && next.entry() != null;
        pressing |= (work.kind() != Kind.ASIDE || listed) && !next.equals(after);
        after = next;
        applied.add(work);
      } catch (RuntimeException refused) {
        work.done().completeExceptionally(refused);
      }
    }
    if (pressing) {
      write(journal, before, after, applied);
    } else {
      synchronized (journals) {
        journal.document = after;
      }
      completed(journal, applied, after);
    }
  }

  private void write(Journal journal, KvDocument before, KvDocument after, List<Work> applied) {
    byte[] bytes = KvFormat.journal(journal.persistenceId, after);
    String expected;
    boolean certain;
    synchronized (journals) {
      expected = journal.version;
      certain = isCertain(journal, before);
    }
    Function<@Nullable String, CompletionStage<Optional<String>>> set =
        version -> kv.set(key(journal), bytes, version, timeToLive(after), certain);
    index
        .require(journal.persistenceId, after.demand())
        .thenComposeAsync(marked -> set.apply(expected), executor)
        .thenComposeAsync(
            won ->
                won.isEmpty() && hasExpired(before)
                    ? set.apply(null)
                    : CompletableFuture.completedFuture(won),
            executor)
        .whenCompleteAsync(
            (won, thrown) -> {
              if (thrown != null) {
                lost(journal, applied, thrown);
              } else if (won.isEmpty()) {
                lost(journal, applied, overtaken(journal));
              } else {
                remember(journal, after, won.get(), bytes.length, null);
                index.settled(journal.persistenceId, after.demand());
                completed(journal, applied, after);
              }
            },
            executor);
  }

  /** Whether the value was just read for this write, or its session is at work in this process. */
  private static boolean isCertain(Journal journal, KvDocument before) {
    Long readAt = journal.readAt;
    return readAt == null
        ? before.demand() == KvDocument.WORKING
        : System.nanoTime() - readAt < RECENT_NANOS;
  }

  /** The store may have dropped the value then, which is no write of another process. */
  private static boolean hasExpired(KvDocument document) {
    return document.forgetAt().orElse(Long.MAX_VALUE) <= System.currentTimeMillis();
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
                remember(journal, null, null, 0, null);
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
    remember(journal, null, null, 0, null);
    index.doubted(journal.persistenceId);
    batch.forEach(work -> work.done().completeExceptionally(thrown));
    executor.execute(() -> go(journal));
  }

  /**
   * @param readAt when the value was read, null if it was written since
   */
  private void remember(
      Journal journal,
      @Nullable KvDocument document,
      @Nullable String version,
      int bytes,
      @Nullable Long readAt) {
    synchronized (journals) {
      int taken = document == null ? 0 : bytes + OVERHEAD;
      remembered += taken - journal.bytes;
      journal.document = document;
      journal.version = version;
      journal.readAt = readAt;
      journal.bytes = taken;
    }
  }

  private void makeRoom(Journal idle) {
    if (idle.document == null) {
      journals.remove(idle.persistenceId);
    }
    Iterator<Journal> leastUsedFirst = journals.values().iterator();
    while (remembered > REMEMBERED && leastUsedFirst.hasNext()) {
      Journal journal = leastUsedFirst.next();
      if (!journal.busy) {
        remember(journal, null, null, 0, null);
        leastUsedFirst.remove();
      }
    }
  }
}
