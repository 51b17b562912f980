package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.StoreTroubles;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.Written;
import io.fermata.session.admin.Runs;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the directory up to date with the journals. Sessions report changes and continue; it keeps
 * the latest change of each run and writes it a few times a second, so a run that starts and ends
 * in between is never written.
 *
 * <p>Changes that it could not write, because of a crash, a failure of the store or an overload,
 * are read from the journals: the store has a mark up to which the directory is complete. The mark
 * lags by some seconds, as a change is reported a little after it was journaled. Threads that were
 * written since are woken, and report themselves.
 *
 * <p>If the store cannot list runs, nothing is written.
 */
public final class SessionDirectory {
  private static final Logger LOG = LoggerFactory.getLogger(SessionDirectory.class);

  private static final long LAG_MILLIS = 250;

  /** How long after an entry was journaled its change is certainly written. */
  private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The maximum number of pending changes. */
  static final int MOST = 20_000;

  private static final long LAST_SECONDS = 10;

  /** A pending change of an entry. */
  private sealed interface Change {}

  /**
   * A run is to be written.
   *
   * @param fresh whether nothing was written of it before
   */
  private record RunChanged(RunRow row, boolean fresh) implements Change {}

  /**
   * An entry of a thread is to be written.
   *
   * @param again whether the store did not take it before, and may have been replaced since
   */
  private record ThreadChanged(DirectoryEntry entry, boolean again) implements Change {}

  /** A run is to be removed. */
  private record Removed() implements Change {}

  /** The newest number in the store at a time. */
  private record Sample(long newest, long nanos) {}

  private static final Removed REMOVED = new Removed();

  private final Directory directory;
  private final OpenStore store;
  private final InstantSource clock;
  private final RunJournals journals;
  private final Function<List<String>, CompletionStage<?>> threads;
  private final Map<String, Change> pending = new ConcurrentHashMap<>();

  /** Those who wait until what is pending has been written. */
  private final Queue<CompletableFuture<Void>> awaiting = new ConcurrentLinkedQueue<>();

  /** What is done before anything pending is written, also between the pages of a rebuild. */
  private final Queue<Runnable> first = new ConcurrentLinkedQueue<>();

  private final AtomicBoolean lagging = new AtomicBoolean(true);
  private final AtomicLong reported = new AtomicLong();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(HandlerThreads.named("fermata-runs-"));

  // --- used by its own thread only

  private final RunEntryWriter writer;
  private final Deque<Sample> moments = new ArrayDeque<>();
  private long lookedAt = System.nanoTime();
  private long reportedThen;
  private long marked;
  private boolean troubled;
  private volatile boolean stopped;
  private volatile boolean reading;
  private volatile long readAt = System.nanoTime();

  /** How often threads are being woken, and when they last began to recover. */
  private final AtomicInteger waking = new AtomicInteger();

  private volatile long wokenAt = System.nanoTime() - SETTLED_NANOS;

  /** In a cluster: the shards of this host, with the number up to which each is complete. */
  private final Map<Integer, Long> marks = new TreeMap<>();

  /** Those of them that are to be read, also if nothing has failed. */
  private final Set<Integer> behind = new HashSet<>();

  private final @Nullable SharedStore shared;

  /**
   * @param threads wakes threads, and completes when the last begins to recover; one that the
   *     directory does not list as it is reports that
   */
  public SessionDirectory(
      OpenStore store,
      Encryption encryption,
      InstantSource clock,
      Function<List<String>, CompletionStage<?>> threads) {
    this.threads = threads;
    this.store = store;
    this.shared = store.shared().orElse(null);
    this.directory = store.directory();
    this.clock = clock;
    this.journals = new RunJournals(store, encryption);
    this.writer = new RunEntryWriter(directory);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a tick logs its failures
  public void start() {
    thread.scheduleWithFixedDelay(this::tick, 0, LAG_MILLIS, TimeUnit.MILLISECONDS);
  }

  // --- shards, in a cluster ----------------------------------------------------------------------

  /**
   * This host lists the sessions of a shard from now on.
   *
   * @param mark the number up to which the host before has listed them
   */
  public void opened(int shard, long mark) {
    inTurn(
        () -> {
          marks.put(shard, mark);
          behind.add(shard);
        });
  }

  /** Another host lists the sessions of a shard from now on. */
  public void closed(int shard) {
    drop(entityId -> Shard.of(entityId) == shard);
    inTurn(
        () -> {
          marks.remove(shard);
          behind.remove(shard);
        });
  }

  private void inTurn(Runnable change) {
    try {
      thread.execute(change);
    } catch (RejectedExecutionException e) {
      LOG.debug("The host is closed", e);
    }
  }

  // --- changes of sessions ----------------------------------------------------------------------

  /**
   * A run has changed.
   *
   * @param begins whether the run starts
   */
  public void runChanged(RunRow row, boolean begins) {
    boolean fresh = begins && !reading();
    report(
        row,
        old -> new RunChanged(row, fresh || (old instanceof RunChanged before && before.fresh())));
  }

  /**
   * Whether the directory is, or was lately, updated from journals, so that no run is certainly
   * fresh.
   */
  private boolean reading() {
    return reading || System.nanoTime() - readAt < SETTLED_NANOS;
  }

  /**
   * A run has ended.
   *
   * @param keptUntil until when its journal is kept, and it is listed
   */
  public void runEnded(RunRow row, long keptUntil) {
    if (keptUntil > clock.millis()) {
      runChanged(row, false);
    } else {
      report(row, old -> old instanceof RunChanged before && before.fresh() ? null : REMOVED);
    }
  }

  private void report(RunRow row, UnaryOperator<@Nullable Change> change) {
    if (!store.supportsListing()) {
      return;
    }
    reported.incrementAndGet();
    if (pending.size() >= MOST && !pending.containsKey(row.id())) {
      lagging.set(true);
    } else {
      pending.compute(row.id(), (id, old) -> change.apply(old));
    }
  }

  /** A thread has changed. As its journal is long, the entry stays pending until it is written. */
  public void threadChanged(DirectoryEntry entry) {
    reported.incrementAndGet();
    pending.put(entry.persistenceId(), new ThreadChanged(entry, false));
  }

  /** A thread was deleted, and its entry erased. */
  public void threadDeleted(String entityId) {
    pending.remove(entityId);
  }

  /** Journals were written without a session, by an import. */
  public void lookAgain() {
    lagging.set(true);
  }

  /**
   * Drops the pending changes of sessions that are to be erased. It does not wait for a rebuild or
   * a catch up: what these have read is written before, and read again if it is erased meanwhile.
   */
  public CompletionStage<Void> forget(Predicate<String> entityIds) {
    return CompletableFuture.runAsync(
        () -> drop(entityIds),
        work -> {
          first.add(work);
          thread.execute(this::doFirst);
        });
  }

  private void doFirst() {
    for (Runnable work = first.poll(); work != null; work = first.poll()) {
      work.run();
    }
  }

  private void drop(Predicate<String> entityIds) {
    pending.keySet().removeIf(id -> entityIds.test(session(id)));
  }

  private static String session(String id) {
    return SessionKey.agentOf(id) == null ? RunRow.session(id) : id;
  }

  /**
   * Completes when the pending changes were written, or could not be. It does not wait for a catch
   * up, which may take long.
   */
  public CompletionStage<Void> entered() {
    CompletableFuture<Void> written = new CompletableFuture<>();
    awaiting.add(written);
    return unlessClosed(
        () -> {
          thread.execute(this::tick);
          return written;
        });
  }

  // --- writing -------------------------------------------------------------------------------

  private void tick() {
    try {
      enter();
      if (store.supportsListing()) {
        if (lags()) {
          catchUp();
        }
        mark();
      }
      troubled = false;
    } catch (RuntimeException | Error e) {
      // What is thrown on would end the updates.
      lagging.set(true);
      // A shard has moved between the change and its listing, which its new host does.
      boolean moved = StoreProblem.of(e) == StoreProblem.MOVED;
      if (!moved && !troubled && !stopped) {
        StoreTroubles.warn(
            LOG,
            "The list of runs could not be updated; it catches up when the store is available",
            e);
      }
      troubled = troubled || !moved;
    }
  }

  private boolean lags() {
    return lagging.get() || !behind.isEmpty();
  }

  private void enter() {
    doFirst();
    List<CompletableFuture<Void>> awaited = new ArrayList<>();
    while (awaiting.peek() != null) {
      awaited.add(awaiting.remove());
    }
    try {
      write();
    } finally {
      awaited.forEach(written -> written.complete(null));
    }
  }

  /** Writes the pending changes. If that fails, those of runs are read from the journals later. */
  private void write() {
    List<CompletionStage<?>> writes = new ArrayList<>();
    for (String id : List.copyOf(pending.keySet())) {
      Change latest = pending.remove(id);
      if (latest instanceof RunChanged changed) {
        writer.put(changed.row(), writes);
      } else if (latest instanceof ThreadChanged listed) {
        writes.add(put(listed).whenComplete((done, thrown) -> again(id, listed, thrown)));
      } else if (latest != null) {
        writes.add(directory.remove(id));
      }
    }
    try {
      Stages.all(writes);
    } catch (CompletionException e) {
      lagging.set(true);
      doubtPending();
      throw e;
    }
  }

  /** What was reported meanwhile may rest on entries that a store has lost that failed. */
  private void doubtPending() {
    pending.values().removeIf(change -> change instanceof RunChanged);
    pending.replaceAll(
        (id, change) ->
            change instanceof ThreadChanged listed
                ? new ThreadChanged(listed.entry(), true)
                : change);
  }

  /** A journal would count as damaged that is listed with an entry that the store has lost. */
  private CompletionStage<?> put(ThreadChanged changed) {
    DirectoryEntry entry = changed.entry();
    if (!changed.again()) {
      return directory.put(entry);
    }
    return store
        .read(entry.persistenceId(), entry.seq(), 1)
        .thenCompose(
            found ->
                found.isEmpty()
                    ? CompletableFuture.completedFuture(null)
                    : directory.put(entry).thenApply(done -> null));
  }

  /** A thread whose shard has moved is listed by the host that has it now. */
  private void again(String id, ThreadChanged listed, @Nullable Throwable thrown) {
    if (thrown != null && StoreProblem.of(thrown) != StoreProblem.MOVED) {
      pending.putIfAbsent(id, new ThreadChanged(listed.entry(), true));
    }
  }

  /** Advances the mark to the newest number of some seconds ago. */
  private void mark() {
    long nanos = System.nanoTime();
    if (reported.get() != reportedThen && nanos - lookedAt >= LOOK_NANOS) {
      reportedThen = reported.get();
      lookedAt = nanos;
      moments.add(new Sample(Stages.now(store.newest()), nanos));
    }
    long settled = 0;
    while (!moments.isEmpty() && nanos - moments.element().nanos() >= SETTLED_NANOS) {
      settled = moments.remove().newest();
    }
    if (settled > marked && !lags() && threadsReported()) {
      mark(settled);
    }
  }

  private void mark(long number) {
    if (shared == null) {
      Stages.now(directory.mark(number));
    } else {
      Stages.now(shared.mark(List.copyOf(marks.keySet()), number));
      marks.replaceAll((shard, before) -> Math.max(before, number));
    }
    marked = number;
  }

  // --- catching up -----------------------------------------------------------------------------

  /** Updates the directory from the journals written since the mark. */
  private void catchUp() {
    if (lagging.getAndSet(false)) {
      behind.addAll(marks.keySet());
    }
    marked = shared == null ? Stages.now(directory.marked()) : lowestMark();
    long end = Stages.now(store.newest());
    Set<String> known = new HashSet<>();
    read(
        writes ->
            journals.writtenSince(
                marked,
                end,
                written -> isBehind(written) && known.add(written.persistenceId()),
                journalIds -> {
                  writes.accept(RunJournals.ofRuns(journalIds));
                  wakeUp(RunJournals.ofThreads(journalIds));
                }));
    behind.clear();
  }

  private void wakeUp(List<String> ofThreads) {
    if (!ofThreads.isEmpty()) {
      waking.incrementAndGet();
      // Those that are not woken stay behind until the next start.
      threads
          .apply(ofThreads)
          .thenRun(
              () -> {
                wokenAt = System.nanoTime();
                waking.decrementAndGet();
              });
    }
  }

  /** Whether the threads that were woken have reported how they are to be listed. */
  private boolean threadsReported() {
    return waking.get() == 0 && System.nanoTime() - wokenAt >= SETTLED_NANOS;
  }

  /** Without shards there is nothing to read. */
  private long lowestMark() {
    return behind.stream().mapToLong(this::markOf).min().orElse(Long.MAX_VALUE);
  }

  private boolean isBehind(Written written) {
    int shard = Shard.of(written.persistenceId());
    return shared == null || (behind.contains(shard) && written.number() > markOf(shard));
  }

  private long markOf(int shard) {
    return marks.getOrDefault(shard, 0L);
  }

  private DirectoryWrites read(Consumer<DirectoryWrites> source) {
    reading = true;
    try {
      enter();
      DirectoryWrites writes = new DirectoryWrites(journals, directory, writer, clock, this::enter);
      source.accept(writes);
      writes.settle();
      return writes;
    } finally {
      readAt = System.nanoTime();
      reading = false;
    }
  }

  /** Catches up now, for a store opened only for reading. */
  CompletionStage<Void> caughtUp() {
    return CompletableFuture.runAsync(this::catchUp, thread);
  }

  /** Rebuilds the directory's entries of the runs in the sessions that this host lists. */
  CompletionStage<Runs.Rebuilt> rebuild() {
    return unlessClosed(() -> CompletableFuture.supplyAsync(this::rebuilt, thread));
  }

  private static <T> CompletionStage<T> unlessClosed(Supplier<CompletionStage<T>> work) {
    try {
      return work.get();
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed; runs cannot be listed", e));
    }
  }

  private Runs.Rebuilt rebuilt() {
    DirectoryWrites writes =
        read(
            ours -> journals.all(page -> ours.accept(page.stream().filter(this::isOurs).toList())));
    long removed = writes.removeUnknown(this::isOurs);
    return new Runs.Rebuilt(writes.read(), writes.entered(), removed);
  }

  private boolean isOurs(String entityId) {
    return shared == null || marks.containsKey(Shard.of(entityId));
  }

  // --- the end ---------------------------------------------------------------------------------

  /**
   * Writes pending changes and closes.
   *
   * @param quiet whether all sessions have stopped, so that the directory is complete
   */
  public void close(boolean quiet) {
    stopped = true;
    thread.shutdown();
    try {
      if (!thread.awaitTermination(LAST_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
      enter();
      if (quiet && store.supportsListing() && !lags() && threadsReported()) {
        mark(Stages.now(store.newest()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (CompletionException e) {
      LOG.info(
          "The list of runs will be updated at the next start: {}", String.valueOf(e.getCause()));
    }
  }

  /** Stops without writing, as a crash would. */
  public void stop() {
    stopped = true;
    thread.shutdownNow();
  }
}
