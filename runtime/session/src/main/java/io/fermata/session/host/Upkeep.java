package io.fermata.session.host;

import io.fermata.persistence.pekko.StoreTroubles;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.session.actor.Alarms;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.Health;
import io.fermata.session.observe.HostGauges;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The upkeep of a host's store: resumes unfinished work, wakes due sessions, sweeps ended runs, and
 * monitors the store.
 */
public final class Upkeep {
  private static final Logger LOG = LoggerFactory.getLogger(Upkeep.class);
  private static final Duration LOOK_AGAIN = Duration.ofSeconds(5);
  private static final Duration SWEEP = Duration.ofMillis(500);

  /** The timeout of a health check. */
  private static final Duration SILENCE = Duration.ofSeconds(2);

  /** Many requests for the health of a host must not write much. */
  private static final Duration PING_VALID = Duration.ofSeconds(3);

  private final OpenStore store;
  private final ActorSystem<SessionRegion.Message> system;
  private final Predicate<String> ours;
  private final InstantSource clock;
  private final BooleanSupplier closed;
  private final HostGauges gauges;
  private final LongSupplier nanos;

  /** Since when unfinished work is being resumed. */
  private final Map<Pages, Long> resuming = new ConcurrentHashMap<>();

  private final Pings pings;
  private final CompletableFuture<String> lost;

  /** The shards of a host fail together, which is one line of the log. */
  private final AtomicBoolean unfinishedUnknown = new AtomicBoolean();

  private final AtomicBoolean sweeping = new AtomicBoolean();

  private volatile @Nullable StoreProblem problem;
  private volatile @Nullable ActorRef<Alarms.Message> alarms;

  /**
   * @param ours whether a session belongs to this host
   * @param nanos the time, in nanoseconds; it never goes back
   */
  public Upkeep(
      OpenStore store,
      ActorSystem<SessionRegion.Message> system,
      Predicate<String> ours,
      InstantSource clock,
      LongSupplier nanos,
      BooleanSupplier closed,
      HostGauges gauges) {
    this.store = store;
    this.system = system;
    this.ours = ours;
    this.clock = clock;
    this.closed = closed;
    this.gauges = gauges;
    this.nanos = nanos;
    gauges.resumeLag(this::resumeLag);
    this.pings = new Pings(store::ping, SILENCE, PING_VALID, nanos);
    this.lost = new CompletableFuture<>();
    store.lost().thenAccept(problem -> lost.complete(problem.text()));
  }

  /** Starts, for the only host of the store. */
  public void start() {
    resumeUnfinishedWork(store::unfinished);
    startAlarms();
  }

  /** Starts, for the shards that this host takes. */
  public void startAlarms() {
    alarms =
        system.systemActorOf(
            Alarms.create(store::due, ours, clock, this::wakeUp, gauges::due),
            "fermata-alarms",
            Props.empty());
    system.scheduler().scheduleWithFixedDelay(SWEEP, SWEEP, this::sweep, system.executionContext());
    lost()
        .thenAccept(
            reason -> LOG.error("This host writes nothing any more and must end: {}", reason));
  }

  /** Resumes the unfinished work of a shard that this host has taken, and wakes what is due. */
  public void resumeShard(SharedStore shared, int shard) {
    ActorRef<Alarms.Message> due = alarms;
    if (due != null) {
      due.tell(new Alarms.Taken());
    }
    resumeUnfinishedWork(
        (after, max) ->
            shared.held().contains(shard)
                ? shared.unfinished(shard, after, max)
                : CompletableFuture.completedFuture(List.of()));
  }

  private void resumeUnfinishedWork(Pages source) {
    resuming.put(source, nanos.getAsLong());
    resumeUnfinishedWork(source, "", 0);
  }

  private Duration resumeLag() {
    long now = nanos.getAsLong();
    return Duration.ofNanos(
        resuming.values().stream().mapToLong(since -> now - since).max().orElse(0));
  }

  /** The sessions with unfinished work, page by page. */
  private interface Pages {
    CompletionStage<List<Unfinished>> page(String after, int max);
  }

  private CompletionStage<Void> wakeUp(List<String> entityIds) {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    system.tell(new SessionRegion.WakeUp(entityIds, begun));
    return begun;
  }

  /**
   * Whether the store can be written and the host accepts calls.
   *
   * @param cluster what the host sees of its cluster, if it has one
   */
  public CompletionStage<Health> health(
      boolean accepts, @Nullable ClusterHealth cluster, Executor executor) {
    StoreProblem noticed = problem;
    String known = lost.isDone() ? lost.join() : noticed == null ? null : noticed.text();
    if (!accepts || known != null) {
      return CompletableFuture.completedFuture(new Health(known, accepts, cluster));
    }
    return pings
        .problem()
        .thenApplyAsync(
            found -> new Health(found.map(StoreProblem::text).orElse(null), true, cluster),
            executor);
  }

  /** Completes with the reason if this host has lost its store for good. */
  public CompletionStage<String> lost() {
    return lost;
  }

  /** This host must end, although its store is there. */
  public void lose(String reason) {
    lost.complete(reason);
  }

  /** Page by page: the next is read when the sessions of this one have been woken. */
  private void resumeUnfinishedWork(Pages source, String after, int before) {
    source
        .page(after, OpenStore.MAX_ENTRIES)
        .whenComplete(
            (page, thrown) -> {
              if (thrown == null) {
                resume(source, page, before);
              } else if (!closed.getAsBoolean()) {
                if (!unfinishedUnknown.getAndSet(true)) {
                  LOG.error("Unfinished runs could not be found; retrying", thrown);
                }
                later(LOOK_AGAIN, () -> resumeUnfinishedWork(source, after, before));
              }
            });
  }

  private void resume(Pages source, List<Unfinished> page, int before) {
    unfinishedUnknown.set(false);
    List<String> entityIds = page.stream().map(Unfinished::persistenceId).filter(ours).toList();
    int resumed = before + entityIds.size();
    CompletionStage<Void> woken = wakeUp(entityIds);
    if (page.size() == OpenStore.MAX_ENTRIES) {
      String next = page.get(page.size() - 1).cursor();
      woken.thenRun(() -> resumeUnfinishedWork(source, next, resumed));
      return;
    }
    woken.thenRun(() -> resuming.remove(source));
    if (resumed > 0) {
      LOG.info("Resuming {} unfinished sessions", resumed);
    }
  }

  private void later(Duration time, Runnable task) {
    system.scheduler().scheduleOnce(time, task, system.executionContext());
  }

  /** A slow sweep is not joined by another. */
  private void sweep() {
    if (closed.getAsBoolean() || sweeping.getAndSet(true)) {
      return;
    }
    store
        .sweep(clock.millis())
        .whenComplete(
            (swept, thrown) -> {
              sweeping.set(false);
              if (!closed.getAsBoolean()) {
                noticeStore(thrown);
              }
            });
  }

  /** Logs a failure of the store once. That a shard has moved is none. */
  private void noticeStore(@Nullable Throwable thrown) {
    Throwable failure =
        thrown != null && StoreProblem.of(thrown) == StoreProblem.MOVED ? null : thrown;
    if (failure != null && problem == null) {
      StoreTroubles.warn(LOG, "The store is unavailable; retrying", failure);
    } else if (failure == null && problem != null) {
      LOG.info("The store is available again");
    }
    problem = failure == null ? null : StoreProblem.of(failure);
  }
}
