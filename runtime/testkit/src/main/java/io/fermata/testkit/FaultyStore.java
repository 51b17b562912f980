package io.fermata.testkit;

import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.Event;
import io.fermata.persistence.Store;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.RejectedException;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A store that fails, stalls or loses its connection when a test wants it to. It is in front of a
 * real one, below the journal plugin, so everything above it is what runs in production.
 *
 * <pre>{@code
 * FaultyStore faulty = FaultyStore.of(Store.memory());
 * Fermata host = Fermata.host().store(faulty.store()).flow(quote).start();
 * faulty.failNextWrite();
 * }</pre>
 *
 * <p>A write is what a session persists at once. Schedules and lists of sessions fail only with the
 * connection.
 */
public final class FaultyStore implements StoreSource {
  /** How a write of a session fails. */
  public enum Fault {
    /** Nothing is written, and the store says so. */
    FAILED,
    /** The store works, but does not accept this entry. */
    REJECTED,
    /** It is written, and the connection breaks before the store has said so. */
    REPLY_LOST
  }

  /** A process that has the store open. Once it is over, it reads and writes nothing. */
  static final class Life {
    private volatile boolean over;

    boolean over() {
      return over;
    }
  }

  private final Store inner;
  private final AtomicInteger requests = new AtomicInteger();
  private final Deque<Fault> planned = new ArrayDeque<>();
  private final NavigableSet<Long> retries = new ConcurrentSkipListSet<>();
  private CrashPoint crash = CrashPoint.NEVER;
  private Life life = new Life();
  private volatile @Nullable OpenStore opened;
  private boolean disconnected;
  private double share;
  private Random random = new Random(0);

  /** While writes stall: what each of them waits for, in the order in which they came. */
  private @Nullable Queue<CompletableFuture<@Nullable Void>> held;

  private boolean holdsEntry;
  private @Nullable String damage;

  private FaultyStore(Store inner) {
    this.inner = inner;
  }

  public static FaultyStore of(Store inner) {
    return new FaultyStore(inner);
  }

  /** The store for a host. */
  public Store store() {
    return Store.of(this);
  }

  // --- faults -----------------------------------------------------------------------------------

  /** The next write fails in this way, after those that are planned already. */
  public synchronized void failNextWrite(Fault fault) {
    planned.add(fault);
  }

  /** From now on a share of the writes fails, in all ways. */
  public synchronized void failAtRandom(Random source, double shareOfWrites) {
    if (!(shareOfWrites >= 0 && shareOfWrites <= 1)) {
      throw new IllegalArgumentException("A share is from 0 to 1, not " + shareOfWrites);
    }
    random = Objects.requireNonNull(source, "source");
    share = shareOfWrites;
  }

  /** Writes stall from now on: they neither succeed nor fail until {@link #releaseWrites}. */
  public synchronized void holdWrites() {
    held = held == null ? new ArrayDeque<>() : held;
  }

  /** What was held is written, in its order. */
  public void releaseWrites() {
    Queue<CompletableFuture<@Nullable Void>> waiting;
    synchronized (this) {
      waiting = held;
      held = null;
      holdsEntry = false;
    }
    if (waiting != null) {
      waiting.forEach(write -> write.complete(null));
    }
  }

  /** Whether an entry of a session is held. */
  synchronized boolean holdsEntry() {
    return holdsEntry;
  }

  /** From now on nothing can be read or written. */
  public synchronized void disconnect() {
    disconnected = true;
  }

  public synchronized void reconnect() {
    disconnected = false;
  }

  // --- crashes ----------------------------------------------------------------------------------

  /** The process is killed at this write. */
  synchronized void crashAt(CrashPoint point) {
    crash = point;
  }

  /** Whether sessions recover from their entries alone. */
  synchronized boolean losesSnapshots() {
    return crash.timing() == CrashPoint.Timing.AFTER;
  }

  /** The process that has the store open is killed now. */
  synchronized void kill() {
    life.over = true;
  }

  synchronized Life life() {
    return life;
  }

  /** Something was to be stored or sent that would be read differently. */
  synchronized void damaged(String what) {
    damage = damage == null ? what : damage;
  }

  synchronized @Nullable String damage() {
    return damage;
  }

  // --- for the parts that a host sees -----------------------------------------------------------

  CompletionStage<@Nullable Void> append(
      Life of,
      String journal,
      List<SerializedEntry> write,
      Supplier<CompletionStage<@Nullable Void>> appending) {
    CrashPoint.Timing timing;
    Supplier<CompletionStage<@Nullable Void>> failing;
    CompletionStage<@Nullable Void> waiting;
    synchronized (this) {
      StoreException unreachable = unreachable(of);
      if (unreachable != null) {
        return CompletableFuture.failedFuture(unreachable);
      }
      boolean session = !journal.startsWith("~");
      timing = session ? crash.at(journal, write) : CrashPoint.Timing.NONE;
      if (timing == CrashPoint.Timing.BEFORE) {
        of.over = true;
        return CompletableFuture.failedFuture(killed());
      }
      Fault fault = session ? next() : null;
      failing = () -> append(fault, appending);
      holdsEntry |= held != null && session;
      waiting = held == null ? null : released(held).thenCompose(released -> reach(of, failing));
    }
    CrashPoint at = crash;
    CompletionStage<@Nullable Void> appended = waiting == null ? counted(failing) : waiting;
    return appended.thenApply(
        done -> {
          at.written(write);
          if (timing == CrashPoint.Timing.AFTER) {
            of.over = true;
            throw killed();
          }
          return null;
        });
  }

  private static CompletableFuture<@Nullable Void> released(
      Queue<CompletableFuture<@Nullable Void>> held) {
    CompletableFuture<@Nullable Void> released = new CompletableFuture<>();
    held.add(released);
    return released;
  }

  private @Nullable Fault next() {
    Fault fault = planned.poll();
    if (fault == null && share > 0 && random.nextDouble() < share) {
      return Fault.values()[random.nextInt(Fault.values().length)];
    }
    return fault;
  }

  private static CompletionStage<@Nullable Void> append(
      @Nullable Fault fault, Supplier<CompletionStage<@Nullable Void>> appending) {
    if (fault == null) {
      return appending.get();
    }
    return switch (fault) {
      case FAILED -> CompletableFuture.failedFuture(planned("The test let this write fail"));
      case REJECTED ->
          CompletableFuture.failedFuture(new RejectedException("The test rejected this entry"));
      case REPLY_LOST ->
          appending
              .get()
              .thenApply(
                  done -> {
                    throw planned("The test lost the reply to this write");
                  });
    };
  }

  /** Sends a request, unless the store cannot be reached now. */
  <T extends @Nullable Object> CompletionStage<T> reach(
      Life of, Supplier<CompletionStage<T>> request) {
    StoreException unreachable;
    synchronized (this) {
      unreachable = unreachable(of);
    }
    return unreachable == null ? counted(request) : CompletableFuture.failedFuture(unreachable);
  }

  private <T extends @Nullable Object> CompletionStage<T> counted(
      Supplier<CompletionStage<T>> request) {
    requests.incrementAndGet();
    return request.get().whenComplete((done, failure) -> requests.decrementAndGet());
  }

  /** Whether a request has no reply yet; writes that are held do not count. */
  boolean busy() {
    return requests.get() > 0;
  }

  private @Nullable StoreException unreachable(Life of) {
    if (of.over) {
      return killed();
    }
    return disconnected ? planned("The test has disconnected the store") : null;
  }

  private static StoreException planned(String message) {
    return new StoreException(StoreProblem.AWAY, message, null);
  }

  private static StoreException killed() {
    return planned("The test has killed this process");
  }

  // --- the store --------------------------------------------------------------------------------

  @Override
  public OpenStore open() {
    return faulty(inner.open());
  }

  @Override
  public OpenStore openShared() {
    return faulty(inner.openShared());
  }

  @Override
  public OpenStore openToRead() {
    return faulty(inner.openToRead());
  }

  @Override
  public boolean exists() {
    return inner.exists();
  }

  /** The earliest moment between these for which a session waits. */
  OptionalLong nextDue(Instant after, Instant until) {
    OpenStore store = opened;
    return store == null
        ? OptionalLong.empty()
        : store
            .due(until.toEpochMilli(), OpenStore.MAX_ENTRIES)
            .toCompletableFuture()
            .join()
            .stream()
            .mapToLong(Due::at)
            .filter(at -> at > after.toEpochMilli())
            .min();
  }

  /** Keeps the moment of the retry that an event schedules: a store does not know it. */
  void written(Object event) {
    if (event instanceof Event.AttemptFailed failed) {
      retries.add(failed.retryAt());
    } else if (event instanceof Event.Reminded reminded && reminded.next() != null) {
      retries.add(reminded.next());
    } else if (event instanceof ThreadEvent.CallFailed failed) {
      retries.add(failed.retryAt());
    } else if (event instanceof ThreadEvent.EffectDelayed delayed) {
      retries.add(delayed.due());
    } else if (event instanceof ThreadEvent.DeliveryFailed failed) {
      retries.add(failed.due());
    }
  }

  /** The earliest moment between these for which a session waits, or something is retried. */
  OptionalLong nextMoment(Instant after, Instant until) {
    return LongStream.concat(nextDue(after, until).stream(), nextRetry(after, until).stream())
        .min();
  }

  /** The earliest moment between these at which something is retried. */
  OptionalLong nextRetry(Instant after, Instant until) {
    Long retry = retries.higher(after.toEpochMilli());
    return retry == null || retry > until.toEpochMilli()
        ? OptionalLong.empty()
        : OptionalLong.of(retry);
  }

  /** Whether a session has unfinished work. */
  boolean works() {
    OpenStore store = opened;
    return store != null && !store.unfinished("", 1).toCompletableFuture().join().isEmpty();
  }

  private OpenStore faulty(OpenStore open) {
    opened = open;
    synchronized (this) {
      life = new Life();
      return new FaultyOpenStore(open, this, life);
    }
  }

  @Override
  public void backup(Path file) {
    inner.backup(file);
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    return inner.verify(damage);
  }

  @Override
  public String toString() {
    return inner.toString();
  }
}
