package io.fermata.session.cluster;

import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the shards of a host share. */
final class ShardHost {
  private static final Logger LOG = LoggerFactory.getLogger(ShardHost.class);

  /** The next host waits a little longer if the store does not learn of a release. */
  private static final Duration RELEASES = Duration.ofSeconds(1);

  private final SharedStore store;
  private final Membership membership;
  private final Shards shards;
  private final Gateway gateway;
  private final ActorRef<SessionRegion.Message> region;
  private final SessionSubscriptions subscriptions;
  private final HostCluster.ShardUpkeep upkeep;
  private final Telemetry telemetry;
  private final RemoteFollowers followers;

  /** The actors of the shards that are open. */
  private final Map<Integer, ActorRef<ToShard>> open = new ConcurrentHashMap<>();

  /** The shards that other hosts took, until they are started where they are placed. */
  private final Set<Integer> taken = ConcurrentHashMap.newKeySet();

  private volatile @Nullable Others others;
  private volatile @Nullable Departure departure;
  private final Map<Arrival, Long> unconfirmed = new ConcurrentHashMap<>();
  private final AtomicBoolean lostProgress = new AtomicBoolean();

  /** Whether the latest shard that was to be taken was. */
  private final AtomicBoolean acquires = new AtomicBoolean(true);

  /** How the other hosts are reached. */
  interface Others {
    /** Sends a message to a shard, wherever it is. */
    void send(int shard, ToShard message);

    void send(int shard, ToShard message, Duration later);

    /** Whether it receives for this host. */
    boolean isMe(ActorRef<ToHost> host);

    /** Notifies all hosts that a shard is open here. */
    void announce(int shard);
  }

  void reachOthersBy(Others how) {
    others = how;
  }

  private Others others() {
    return Objects.requireNonNull(others, "The host has not joined its cluster");
  }

  ShardHost(
      SharedStore store,
      Membership membership,
      Shards shards,
      Gateway gateway,
      ActorRef<SessionRegion.Message> region,
      SessionSubscriptions subscriptions,
      HostCluster.ShardUpkeep upkeep,
      Telemetry telemetry) {
    this.store = store;
    this.membership = membership;
    this.shards = shards;
    this.gateway = gateway;
    this.region = region;
    this.subscriptions = subscriptions;
    this.upkeep = upkeep;
    this.telemetry = telemetry;
    this.followers = new RemoteFollowers(subscriptions, System::nanoTime);
  }

  Duration handOver() {
    return shards.handOver();
  }

  CompletionStage<Long> acquire(int shard) {
    if (!membership.mayHold()) {
      return CompletableFuture.failedStage(
          new IllegalStateException(
              "This host lacks what the cluster runs, or is no member of it any more"));
    }
    long begun = System.nanoTime();
    return store
        .acquire(shard, membership.id())
        .thenApply(
            mark -> {
              since(begun, Meter.ACQUIRED);
              return mark;
            });
  }

  /** When the store is away, all shards fail, each second. */
  void notAcquired(int shard, Throwable why) {
    if (acquires.compareAndSet(true, false)) {
      LOG.warn("Shard {} could not be taken, and others may not; retrying", shard, why);
    } else {
      LOG.debug("Shard {} could not be taken", shard, why);
    }
  }

  void opened(int shard, long mark, ActorContext<ToShard> context) {
    acquires.set(true);
    shards.open(shard);
    open.put(shard, context.getSelf());
    taken.remove(shard);
    Departure leaves = departure;
    if (leaves != null) {
      leaves.opened(shard);
    }
    upkeep.opened(shard, mark, context);
    subscriptions.missed(entityId -> Shard.of(entityId) == shard);
    others().announce(shard);
  }

  /** Completes when all sessions of the shard have stopped. */
  CompletionStage<Void> close(int shard) {
    shards.close(shard);
    long begun = System.nanoTime();
    CompletableFuture<Void> closed = new CompletableFuture<>();
    region.tell(new SessionRegion.CloseShard(shard, closed));
    return closed.thenRun(() -> since(begun, Meter.HANDED_OVER));
  }

  private void since(long begun, Meter timer) {
    telemetry.measured(timer, (double) (System.nanoTime() - begun), List.of());
  }

  void vacate(int shard) {
    region.tell(new SessionRegion.VacateShard(shard));
  }

  /** Completes when the next host that takes the shard knows that this one gave it up. */
  CompletionStage<?> release(int shard) {
    return upkeep
        .closing()
        .toCompletableFuture()
        .completeOnTimeout(null, RELEASES.toMillis(), TimeUnit.MILLISECONDS)
        .handle((written, failed) -> store.release(shard))
        .thenCompose(released -> released)
        .orTimeout(2 * RELEASES.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** The shard's actor has stopped, for any reason. */
  @SuppressWarnings("FutureReturnValueIgnored") // the next host then waits a little longer
  void gone(int shard) {
    shards.close(shard);
    open.remove(shard);
    // Cluster sharding stops a shard that closes for too long, and does not ask it first.
    region.tell(new SessionRegion.CloseShard(shard, new CompletableFuture<>()));
    vacate(shard);
    store.release(shard);
    upkeep.closed(shard);
    followers.closed(shard);
    Departure leaves = departure;
    if (leaves != null) {
      leaves.closed(shard);
    }
  }

  /** The shards of this host move from now on. */
  Departure depart() {
    Departure leaves = new Departure(Set.copyOf(open.keySet()));
    departure = leaves;
    shards.depart();
    return leaves;
  }

  void openedElsewhere(int shard) {
    Departure leaves = departure;
    if (leaves != null) {
      leaves.openedElsewhere(shard);
    }
  }

  /**
   * Looks whether the store still knows this host as the holder of the shards that are open. Shards
   * that another host took are started again where the hosts place them, which may be here.
   */
  void lookAfterShards() {
    followers.dropLost();
    for (int shard : List.copyOf(taken)) {
      if (!open.containsKey(shard)) {
        taken.remove(shard);
        others().send(shard, new ToShard.Touch());
      }
    }
    // Read before what is held: a shard that opens meanwhile is not lost.
    Map<Integer, ActorRef<ToShard>> opened = Map.copyOf(open);
    Set<Integer> held = Set.copyOf(store.held());
    opened.forEach(
        (shard, actor) -> {
          if (!held.contains(shard) && taken.add(shard)) {
            actor.tell(new ToShard.Lost());
          }
        });
  }

  // --- calls -----------------------------------------------------------------------------------

  /** A call of another host. */
  record Arrival(ActorRef<ToHost> host, long id) {
    static Arrival of(ToShard.Deliver deliver) {
      return new Arrival(deliver.replyTo(), deliver.id());
    }
  }

  /** The host that received a call. */
  private final class Caller implements SessionCommand.ReplyTo {
    private final ActorRef<ToHost> host;
    private final String entityId;
    private final boolean whole;

    /**
     * @param whole whether it reads the whole state of a thread
     */
    Caller(ActorRef<ToHost> host, String entityId, boolean whole) {
      this.host = host;
      this.entityId = entityId;
      this.whole = whole;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Caller caller && host.equals(caller.host);
    }

    @Override
    public int hashCode() {
      return host.hashCode();
    }

    @Override
    public void reply(long id, SessionReply reply) {
      unconfirmed.remove(new Arrival(host, id));
      host.tell(new ToHost.Replied(id, RemoteCall.written(reply, entityId, whole)));
    }

    @Override
    public void progress(long id, ToolProgress progress) {
      if (RemoteCall.isTooLarge(progress.payload())) {
        progressLost(progress);
        return;
      }
      host.tell(new ToHost.Progressed(id, progress.node(), progress.name(), progress.payload()));
    }
  }

  /** Of steps that publish too much, the first is logged. */
  private void progressLost(ToolProgress progress) {
    if (lostProgress.compareAndSet(false, true)) {
      LOG.warn(
          "Progress {} of the step {} is larger than {} bytes, so callers at other hosts do not get"
              + " it; publish less at once",
          progress.name(),
          progress.node(),
          RemoteCall.LARGEST);
    }
  }

  void deliver(ToShard.Deliver deliver) {
    String entityId = deliver.entityId();
    Caller sender = new Caller(deliver.replyTo(), entityId, false);
    unconfirmed.put(Arrival.of(deliver), deliver.id());
    if (gateway.hasReceived(sender, deliver.id())) {
      return;
    }
    RemoteCall call;
    try {
      call = RemoteCall.read(deliver.call());
    } catch (UncheckedIOException e) {
      LOG.warn("A call of {} is of a release that this host does not understand", entityId, e);
      sender.reply(deliver.id(), SessionReply.failure(entityId, HostError.ROLLING_OUT.failure()));
      return;
    }
    Caller caller = new Caller(deliver.replyTo(), entityId, call.readsState());
    gateway.receive(
        entityId,
        call.call(deliver.id(), caller, deliver.again()),
        Duration.ofMillis(deliver.timeoutMillis()),
        deliver.again() || others().isMe(deliver.replyTo()));
  }

  /** Most calls are replied to before this, which confirms them as well. */
  void confirmArrivals() {
    for (Arrival arrival : unconfirmed.keySet()) {
      // A reply waits for this, as a confirmation must not come after it.
      unconfirmed.computeIfPresent(
          arrival,
          (same, id) -> {
            arrival.host().tell(new ToHost.Accepted(id, membership.address()));
            return null;
          });
    }
  }

  void stopWaiting(ToShard.StopWaiting stop) {
    gateway.stopWaiting(new Caller(stop.replyTo(), stop.entityId(), false), stop.id());
  }

  // --- erasures --------------------------------------------------------------------------------

  /** Another host, or this one again, is to delete them. */
  void pass(int shard, ToShard.Delete delete, Duration later) {
    others().send(shard, delete, later);
  }

  /**
   * Only the host that holds the shard may delete what is in it. It stops the sessions first: one
   * that joined during an erasure may have woken some before it heard of that.
   */
  CompletionStage<ToShard.Deletion> delete(ToShard.Delete delete) {
    SessionScope scope = new SessionScope(Set.copyOf(delete.entityIds()), Set.of());
    return RemoteBars.stop(scope, region, upkeep)
        .thenCompose(done -> upkeep.delete(delete.entityIds()))
        .whenComplete(
            (deleted, thrown) ->
                region.tell(
                    new SessionRegion.Unbar(scope, thrown != null, new CompletableFuture<>())))
        .handle(
            (deleted, thrown) ->
                thrown == null
                    ? new ToShard.Deletion(deleted, null)
                    : new ToShard.Deletion(Deleted.NOTHING, RootCauses.of(thrown).toString()));
  }

  // --- subscriptions of other hosts ------------------------------------------------------------

  /** A host may learn only afterwards that it runs sessions itself which it follows. */
  void follow(ToShard.Follow follow) {
    if (!others().isMe(follow.by())) {
      followers.follow(follow);
    }
  }
}
