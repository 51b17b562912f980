package io.fermata.session.cluster;

import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Scheduler;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.sharding.typed.ShardingEnvelope;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;

/**
 * Sends calls to the hosts of their sessions. Messages between hosts may be lost, with a host or
 * while a shard moves, so a call is sent again until its host confirms it, and again when that host
 * is lost. Each has an id that is journaled with its reply, so it is driven once however often it
 * arrives.
 */
final class Forwarder implements Shards.Forwarding, Consumer<SessionRegion.Message> {
  /** How long a call may take until its host confirms it. */
  private static final Duration CONFIRMED = Duration.ofMillis(500);

  /** How long shards may move after hosts have come or gone. */
  private static final Duration SETTLED = Duration.ofSeconds(20);

  /** How long a host may take to delete journals. */
  private static final Duration DELETES = Duration.ofSeconds(20);

  /** How often shards are touched that nobody moves. */
  private static final Duration TOUCH = Duration.ofSeconds(5);

  /**
   * A call on its way.
   *
   * @param host where it has arrived; null while that is not known
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Forwarded(String entityId, byte[] call, long sentNanos, @Nullable String host) {

    Forwarded at(@Nullable String arrived) {
      return new Forwarded(entityId, call, sentNanos, arrived);
    }

    Forwarded sent(long nanos) {
      return new Forwarded(entityId, call, nanos, null);
    }
  }

  /** An erasure that waits until the sessions have stopped on these hosts. */
  private record Barring(SessionScope scope, Set<String> hosts, CompletableFuture<Void> barred) {}

  /** The name of this host, which no other has or had. */
  private final String name;

  private final Cluster cluster;
  private final Shards shards;
  private final Gateway gateway;
  private final SessionSubscriptions subscriptions;
  private final ActorRef<ShardingEnvelope<ToShard>> toShards;
  private final ActorRef<SessionRegion.Message> region;
  private final Telemetry telemetry;
  private final Map<Long, Forwarded> calls = new ConcurrentHashMap<>();
  private final Map<Long, Barring> barrings = new HashMap<>();
  private final AtomicLong lastBarring = new AtomicLong();
  private final AtomicLong resends = new AtomicLong();
  private volatile long changedNanos = System.nanoTime();
  private volatile long touchedNanos = changedNanos;
  private volatile @Nullable ActorRef<ToHost> me;

  /** The actors of the other hosts, by address. */
  private volatile Map<String, ActorRef<ToHost>> peers = Map.of();

  Forwarder(
      String name,
      Cluster cluster,
      Shards shards,
      Gateway gateway,
      SessionSubscriptions subscriptions,
      ActorRef<ShardingEnvelope<ToShard>> toShards,
      ActorRef<SessionRegion.Message> region,
      Telemetry telemetry) {
    this.name = name;
    this.cluster = cluster;
    this.shards = shards;
    this.gateway = gateway;
    this.subscriptions = subscriptions;
    this.toShards = toShards;
    this.region = region;
    this.telemetry = telemetry;
  }

  void start(ActorRef<ToHost> self) {
    me = self;
    subscriptions.onAdded(this::follow);
    shards.forwardBy(this);
  }

  void peers(Set<ActorRef<ToHost>> all) {
    peers =
        all.stream()
            .filter(each -> each.path().address().hasGlobalScope())
            .collect(Collectors.toMap(each -> each.path().address().toString(), each -> each));
  }

  private void send(int shard, ToShard message) {
    toShards.tell(new ShardingEnvelope<>(Integer.toString(shard), message));
  }

  // --- calls -----------------------------------------------------------------------------------

  @Override
  public void forward(String entityId, SessionCommand command) {
    if (command instanceof SessionCommand.DeadlinePassed passed) {
      send(Shard.of(entityId), new ToShard.StopWaiting(entityId, passed.id(), me()));
    } else if (command instanceof SessionCommand.Call call) {
      byte[] written = RemoteCall.written(call, "~" + name + "-" + call.id());
      calls.put(call.id(), new Forwarded(entityId, written, System.nanoTime(), null));
      deliver(call.id());
    }
  }

  private ActorRef<ToHost> me() {
    return Objects.requireNonNull(me, "The host has not joined its cluster");
  }

  long resends() {
    return resends.get();
  }

  /** Whether the call was sent, as its caller still waits. */
  private boolean deliver(long id) {
    Duration left = gateway.left(id);
    Forwarded call = calls.computeIfPresent(id, (same, sent) -> sent.sent(System.nanoTime()));
    if (left == null || call == null) {
      calls.remove(id);
      return false;
    }
    send(
        Shard.of(call.entityId()),
        new ToShard.Deliver(call.entityId(), id, call.call(), left.toMillis(), me()));
    return true;
  }

  void accepted(long id, String host) {
    Forwarded sent = calls.get(id);
    if (sent != null && sent.host() == null) {
      telemetry.forwarded(System.nanoTime() - sent.sentNanos());
    }
    calls.computeIfPresent(id, (same, call) -> call.at(host));
  }

  /** The session has moved before it replied. */
  void moved(long id) {
    calls.computeIfPresent(id, (same, sent) -> sent.at(null));
  }

  /** Whether the call was waiting for its reply. */
  boolean ended(long id) {
    return calls.remove(id) != null;
  }

  /** The calls that had arrived at a host are sent again. */
  void lost(String host) {
    calls.replaceAll((id, sent) -> host.equals(sent.host()) ? sent.at(null) : sent);
    changed();
    synchronized (barrings) {
      barrings.values().forEach(barring -> barring.hosts().remove(host));
      completeBarrings();
    }
  }

  // --- upkeep ----------------------------------------------------------------------------------

  /** Sends again what may be lost. */
  void lookAfterCalls() {
    long before = System.nanoTime() - CONFIRMED.toNanos();
    calls.forEach(
        (id, sent) -> {
          if (sent.host() == null ? sent.sentNanos() - before < 0 : gateway.left(id) == null) {
            if (deliver(id)) {
              resends.incrementAndGet();
            }
          }
        });
  }

  /** One host makes sure that every shard is held; every host renews what it follows. */
  void lookAfterShards() {
    long now = System.nanoTime();
    boolean settled = now - changedNanos > SETTLED.toNanos();
    boolean leads = cluster.selfMember().address().equals(cluster.state().getLeader());
    if (leads && (!settled || now - touchedNanos > TOUCH.toNanos())) {
      touchedNanos = now;
      Shard.all()
          .filter(shard -> !shards.isOpen(shard))
          .forEach(shard -> send(shard, new ToShard.Touch()));
    }
    subscriptions.followed().forEach(this::follow);
    repeatBars();
  }

  /** Hosts have come or gone, so shards move. */
  void changed() {
    changedNanos = System.nanoTime();
  }

  private void follow(String entityId) {
    if (!shards.isHere(entityId)) {
      send(Shard.of(entityId), new ToShard.Follow(entityId, me()));
    }
  }

  /** Deletes journals, each by the host that holds its shard. */
  CompletionStage<Deleted> delete(Collection<String> entityIds, Scheduler scheduler) {
    Map<Integer, List<String>> byShard =
        entityIds.stream().collect(Collectors.groupingBy(Shard::of));
    CompletionStage<Deleted> all = CompletableFuture.completedFuture(Deleted.NOTHING);
    for (Map.Entry<Integer, List<String>> each : byShard.entrySet()) {
      all = all.thenCombine(delete(each.getKey(), each.getValue(), scheduler), Deleted::and);
    }
    return all;
  }

  private CompletionStage<Deleted> delete(int shard, List<String> ids, Scheduler scheduler) {
    return AskPattern.<ShardingEnvelope<ToShard>, ToShard.Deletion>ask(
            toShards,
            replyTo ->
                new ShardingEnvelope<>(Integer.toString(shard), new ToShard.Delete(ids, replyTo)),
            DELETES,
            scheduler)
        .thenApply(
            deletion -> {
              if (deletion.why() != null) {
                throw new CompletionException(
                    new IllegalStateException(
                        "The host of shard %d could not delete: %s"
                            .formatted(shard, deletion.why())));
              }
              return deletion.deleted();
            });
  }

  // --- erasures --------------------------------------------------------------------------------

  /** Passes what concerns the sessions of all hosts to all of them. */
  @Override
  public void accept(SessionRegion.Message message) {
    if (message instanceof SessionRegion.Bar bar) {
      bar(bar);
      return;
    }
    region.tell(message);
    if (message instanceof SessionRegion.Unbar unbar) {
      unbar(unbar);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // who bars waits for it
  private void bar(SessionRegion.Bar bar) {
    CompletableFuture<Void> here = new CompletableFuture<>();
    CompletableFuture<Void> elsewhere = new CompletableFuture<>();
    CompletableFuture.allOf(here, elsewhere).thenRun(() -> bar.stopped().complete(null));
    region.tell(new SessionRegion.Bar(bar.scope(), here));
    synchronized (barrings) {
      barrings.put(lastBarring.incrementAndGet(), new Barring(bar.scope(), members(), elsewhere));
      completeBarrings();
    }
    repeatBars();
  }

  private void repeatBars() {
    synchronized (barrings) {
      barrings.forEach(
          (id, barring) ->
              peers.values().forEach(host -> host.tell(new ToHost.Bar(id, barring.scope(), me()))));
    }
  }

  private void unbar(SessionRegion.Unbar unbar) {
    synchronized (barrings) {
      barrings.entrySet().stream()
          .filter(each -> each.getValue().scope().equals(unbar.scope()))
          .map(Map.Entry::getKey)
          .findFirst()
          .ifPresent(
              id -> {
                barrings.remove(id);
                peers
                    .values()
                    .forEach(host -> host.tell(new ToHost.Unbar(id, unbar.resume(), me())));
              });
    }
  }

  /** Whether a member is there that does not leave as well. */
  boolean hasOthers() {
    return !upElsewhere().isEmpty();
  }

  /** Members whose actor is not known yet are waited for, too. */
  private Set<String> members() {
    Set<String> all = upElsewhere();
    all.addAll(peers.keySet());
    return all;
  }

  private Set<String> upElsewhere() {
    Set<String> up = new HashSet<>();
    cluster
        .state()
        .getMembers()
        .forEach(
            member -> {
              boolean other = !member.uniqueAddress().equals(cluster.selfMember().uniqueAddress());
              if (other && member.status() == MemberStatus.up()) {
                up.add(member.address().toString());
              }
            });
    return up;
  }

  void barred(long id, String host) {
    synchronized (barrings) {
      Barring barring = barrings.get(id);
      if (barring != null) {
        barring.hosts().remove(host);
        completeBarrings();
      }
    }
  }

  private void completeBarrings() {
    barrings
        .values()
        .forEach(
            barring -> {
              if (barring.hosts().isEmpty()) {
                barring.barred().complete(null);
              }
            });
  }
}
