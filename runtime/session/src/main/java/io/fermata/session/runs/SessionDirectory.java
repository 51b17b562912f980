package io.fermata.session.runs;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.Runs;
import io.fermata.session.journal.Encryption;
import io.fermata.session.key.HandlerThreads;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the directory follow the journals of runs. Sessions tell it what they have journaled and go
 * on; it keeps the newest of each run and enters it a few times a second, so that a run that begins
 * and ends in between is never entered at all.
 *
 * <p>What it was told and could not enter, because the process died, the store failed, or it was
 * told too much at once, it finds in the journals: the store keeps a mark up to which the directory
 * is known to have followed. The mark stays behind by some seconds, as a record may be told of a
 * little after it was journaled.
 *
 * <p>Where the store cannot list runs, nothing is entered.
 */
public final class SessionDirectory {
  private static final Logger LOG = LoggerFactory.getLogger(SessionDirectory.class);

  private static final long LAG_MILLIS = 250;

  /** How long after it was journaled every record has been told of and entered. */
  private static final long SETTLED_NANOS = TimeUnit.SECONDS.toNanos(5);

  private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Runs whose news wait to be entered. */
  static final int MOST = 20_000;

  private static final long LAST_SECONDS = 10;

  /** What is to become of an entry. */
  private sealed interface News {}

  /**
   * The run is to be entered.
   *
   * @param fresh nothing has been entered of it before
   */
  private record Stands(RunRow row, boolean fresh) implements News {}

  /** The entry of a thread is to be there. */
  private record Listed(DirectoryEntry entry) implements News {}

  /** The run is to be taken out. */
  private record Gone() implements News {}

  /** That the store had so many records at a time. */
  private record Moment(long newest, long nanos) {}

  private static final Gone GONE = new Gone();

  private final Directory directory;
  private final OpenStore store;
  private final InstantSource clock;
  private final RunJournals journals;
  private final Map<String, News> news = new ConcurrentHashMap<>();
  private final AtomicBoolean behind = new AtomicBoolean(true);
  private final AtomicLong told = new AtomicLong();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(HandlerThreads.named("fermata-runs-"));

  // --- of its own thread alone

  private final RunEntering entering;
  private final Deque<Moment> moments = new ArrayDeque<>();
  private long lookedAt = System.nanoTime();
  private long toldThen;
  private long marked;
  private boolean troubled;
  private volatile boolean stopped;
  private volatile boolean reading;
  private volatile long readAt = System.nanoTime();

  public SessionDirectory(OpenStore store, Encryption seals, InstantSource clock) {
    this.store = store;
    this.directory = store.directory();
    this.clock = clock;
    this.journals = new RunJournals(store, seals);
    this.entering = new RunEntering(directory);
  }

  @SuppressWarnings("FutureReturnValueIgnored") // a tick tells of its failures itself
  public void start() {
    thread.scheduleWithFixedDelay(this::tick, 0, LAG_MILLIS, TimeUnit.MILLISECONDS);
  }

  // --- what sessions tell ----------------------------------------------------------------------

  /**
   * A run stands so.
   *
   * @param begins this is the first that is told of it
   */
  public void stands(RunRow row, boolean begins) {
    if (!store.supportsListing()) {
      return;
    }
    told.incrementAndGet();
    if (news.size() >= MOST && !news.containsKey(row.id())) {
      behind.set(true);
      return;
    }
    boolean fresh = begins && !reading();
    news.compute(
        row.id(),
        (id, old) -> new Stands(row, fresh || (old instanceof Stands before && before.fresh())));
  }

  /** Whether what the journals say is entered, or was lately, so that nothing is surely fresh. */
  private boolean reading() {
    return reading || System.nanoTime() - readAt < SETTLED_NANOS;
  }

  /**
   * A run has ended.
   *
   * @param keptUntil it is listed for as long as its journal is kept
   */
  public void ended(RunRow row, long keptUntil) {
    if (!store.supportsListing()) {
      return;
    }
    if (keptUntil > clock.millis()) {
      stands(row, false);
      return;
    }
    told.incrementAndGet();
    if (news.size() >= MOST && !news.containsKey(row.id())) {
      behind.set(true);
      return;
    }
    news.compute(
        row.id(), (id, old) -> old instanceof Stands before && before.fresh() ? null : GONE);
  }

  /** A thread is listed so. Its journal is long, so the entry waits here until it is written. */
  public void lists(DirectoryEntry entry) {
    news.put(entry.persistenceId(), new Listed(entry));
  }

  /** A thread is deleted, and its entry erased with the rest. */
  public void forgets(String entityId) {
    news.remove(entityId);
  }

  /** Journals were written to that no session speaks of. */
  public void lookAgain() {
    behind.set(true);
  }

  /** Enters nothing any more of what it was told of sessions that are to be erased. */
  public CompletionStage<Void> forget(Predicate<String> entityIds) {
    return CompletableFuture.runAsync(
        () -> news.keySet().removeIf(id -> entityIds.test(session(id))), thread);
  }

  private static String session(String id) {
    return SessionKey.agentOf(id) == null ? RunRow.session(id) : id;
  }

  /** Enters what it knows so far. */
  public CompletionStage<Void> entered() {
    return unlessClosed(() -> CompletableFuture.runAsync(this::tick, thread));
  }

  // --- following -------------------------------------------------------------------------------

  private void tick() {
    try {
      enter();
      if (store.supportsListing()) {
        if (behind.get()) {
          catchUp();
        }
        mark();
      }
      troubled = false;
    } catch (RuntimeException e) {
      behind.set(true);
      if (!troubled && !stopped) {
        LOG.warn("The list of runs could not follow; it catches up when the store lets it", e);
      }
      troubled = true;
    }
  }

  /** Enters what was told. If that fails, it is found in the journals again. */
  private void enter() {
    List<CompletionStage<?>> writes = new ArrayList<>();
    List<DirectoryEntry> threads = new ArrayList<>();
    for (String id : List.copyOf(news.keySet())) {
      News latest = news.remove(id);
      if (latest instanceof Stands stands) {
        entering.put(stands.row(), writes);
      } else if (latest instanceof Listed listed) {
        threads.add(listed.entry());
        writes.add(directory.put(listed.entry()));
      } else if (latest != null) {
        writes.add(directory.remove(id));
      }
    }
    try {
      Stages.all(writes);
    } catch (CompletionException e) {
      behind.set(true);
      threads.forEach(entry -> news.putIfAbsent(entry.persistenceId(), new Listed(entry)));
      throw e;
    }
  }

  /** Moves the mark to where the store's records ended some seconds ago. */
  private void mark() {
    long nanos = System.nanoTime();
    if (told.get() != toldThen && nanos - lookedAt >= LOOK_NANOS) {
      toldThen = told.get();
      lookedAt = nanos;
      moments.add(new Moment(Stages.now(store.newest()), nanos));
    }
    long settled = 0;
    while (!moments.isEmpty() && nanos - moments.element().nanos() >= SETTLED_NANOS) {
      settled = moments.remove().newest();
    }
    if (settled > marked && !behind.get()) {
      mark(settled);
    }
  }

  private void mark(long number) {
    Stages.now(directory.mark(number));
    marked = number;
  }

  // --- catching up -----------------------------------------------------------------------------

  /** Enters what the journals of runs say that were written to since the mark. */
  private void catchUp() {
    behind.set(false);
    marked = Stages.now(directory.marked());
    long end = Stages.now(store.newest());
    read(caught -> journals.writtenSince(marked, end, caught));
  }

  private DirectoryWrites read(Consumer<DirectoryWrites> source) {
    reading = true;
    try {
      enter();
      DirectoryWrites caught =
          new DirectoryWrites(journals, directory, entering, clock, this::enter);
      source.accept(caught);
      caught.settle();
      return caught;
    } finally {
      readAt = System.nanoTime();
      reading = false;
    }
  }

  /** Catches up now, for whoever opened the store to look only. */
  CompletionStage<Void> caughtUp() {
    return CompletableFuture.runAsync(this::catchUp, thread);
  }

  /** Makes the directory's entries of runs anew. */
  CompletionStage<Runs.Rebuilt> rebuild() {
    return unlessClosed(() -> CompletableFuture.supplyAsync(this::rebuilt, thread));
  }

  private static <T> CompletionStage<T> unlessClosed(Supplier<CompletionStage<T>> work) {
    try {
      return work.get();
    } catch (RejectedExecutionException e) {
      return CompletableFuture.failedFuture(
          new IllegalStateException("The host is closed and lists no runs", e));
    }
  }

  private Runs.Rebuilt rebuilt() {
    DirectoryWrites caught = read(journals::all);
    long removed = caught.removeStrangers();
    return new Runs.Rebuilt(caught.read(), caught.entered(), removed);
  }

  // --- the end ---------------------------------------------------------------------------------

  /**
   * Enters what is left.
   *
   * @param quiet no session writes any more, so that nothing is left to catch up with
   */
  public void close(boolean quiet) {
    stopped = true;
    thread.shutdown();
    try {
      if (!thread.awaitTermination(LAST_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
      enter();
      if (quiet && store.supportsListing() && !behind.get()) {
        mark(Stages.now(store.newest()));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (CompletionException e) {
      LOG.info("The list of runs follows at the next start: {}", String.valueOf(e.getCause()));
    }
  }

  /** Ends as a lost process would. */
  public void stop() {
    stopped = true;
    thread.shutdownNow();
  }
}
