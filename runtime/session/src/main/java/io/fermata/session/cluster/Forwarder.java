package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.Outcome;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.ArrayList;
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
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.AskPattern;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.sharding.typed.ShardingEnvelope;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;

/**
 * Sends calls to the hosts of their sessions. Messages between hosts may be lost, with a host or
 * while a shard moves, so a call is sent again until its host confirms it, and again when that host
 * is lost. However often it arrives, it has its effect once: what would have another one at its
 * second arrival carries an id, which the session journals with what it did. The latest 256 are
 * remembered.
 *
 * <p>A deletion is sent again, too; its shard knows the latest ones.
 */
final class Forwarder implements ShardHost.Others, Consumer<SessionRegion.Message> {
  /** How long a call may take until its host confirms it; twice as long each time, up to 2 s. */
  private static final Duration CONFIRMED = Duration.ofMillis(500);

  private static final int MOST_DOUBLED = 2;

  private static final Set<MemberStatus> UP = Set.of(MemberStatus.up());

  private static final Set<MemberStatus> ALIVE =
      Set.of(MemberStatus.joining(), MemberStatus.weaklyUp(), MemberStatus.up());

  /** How long a confirmed call waits until it is sent again, as its reply may be lost. */
  private static final Duration REPLIED = Duration.ofSeconds(5);

  /** How long a host may take to delete journals. */
  private static final Duration DELETES = Duration.ofSeconds(20);

  /** Sessions that one message follows. */
  private static final int MOST_FOLLOWED = 1_000;

  /**
   * A call on its way.
   *
   * @param host where it has arrived; null while that is not known
   * @param sends how often it was sent since that was known
   */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Forwarded(
      String entityId, byte[] call, long sentNanos, @Nullable String host, int sends) {

    Forwarded at(@Nullable String arrived) {
      return new Forwarded(entityId, call, sentNanos, arrived, 0);
    }

    Forwarded sent(long nanos) {
      return new Forwarded(entityId, call, nanos, null, sends + 1);
    }

    /** How long it waits until it is sent again. */
    Duration patience() {
      int doubled = Math.min(Math.max(0, sends - 1), MOST_DOUBLED);
      return host == null ? CONFIRMED.multipliedBy(1L << doubled) : REPLIED;
    }
  }

  /**
   * What all hosts are to do.
   *
   * @param message {@link ToHost.Bar} or {@link ToHost.Unbar}
   * @param hosts those that have confirmed it
   */
  private record Request(
      ToHost.Sent message, Set<String> hosts, CompletableFuture<Void> confirmed) {}

  /** A deletion on its way to its shard. */
  private record Deleting(int shard, long sentNanos) {}

  /** The name of this host, which no other has or had. */
  private final String name;

  private final Cluster cluster;
  private final Shards shards;
  private final Gateway gateway;
  private final SessionSubscriptions subscriptions;
  private final ActorRef<ShardingEnvelope<ToShard>> toShards;
  private final ActorSystem<SessionRegion.Message> system;
  private final Telemetry telemetry;
  private final LongSupplier nanos;

  /** By number, so that those of a session are sent again in their order. */
  private final Map<Long, Forwarded> calls = new ConcurrentSkipListMap<>();

  private final Map<Long, Request> requests = new HashMap<>();

  /** The deletions that no host has confirmed yet. */
  private final Map<ToShard.Delete, Deleting> deletions = new ConcurrentHashMap<>();

  /** The latest notification of each session that this host follows at another one. */
  private final Map<String, ToHost.Notice> heard = new ConcurrentHashMap<>();

  /** The shards that were opened somewhere, until this host follows its sessions there. */
  private final Set<Integer> opened = ConcurrentHashMap.newKeySet();

  private long lastRequest;
  private final AtomicLong resends = new AtomicLong();
  private volatile @Nullable ActorRef<ToHost> me;
  private volatile boolean leaving;

  /** Guards the peers against a message that is published while one becomes known. */
  private final RecentMessages published = new RecentMessages();

  /** The actors of the other hosts, by address. */
  private volatile Map<String, ActorRef<ToHost>> peers = Map.of();

  Forwarder(
      String name,
      Cluster cluster,
      Shards shards,
      Gateway gateway,
      SessionSubscriptions subscriptions,
      ActorRef<ShardingEnvelope<ToShard>> toShards,
      ActorSystem<SessionRegion.Message> system,
      Telemetry telemetry,
      LongSupplier nanos) {
    this.name = name;
    this.cluster = cluster;
    this.shards = shards;
    this.gateway = gateway;
    this.subscriptions = subscriptions;
    this.toShards = toShards;
    this.system = system;
    this.telemetry = telemetry;
    this.nanos = nanos;
  }

  void start(ActorRef<ToHost> self) {
    me = self;
    subscriptions.onAdded(entityId -> follow(List.of(entityId)));
    shards.forwardBy(this);
  }

  void peers(Set<ActorRef<ToHost>> all) {
    Map<String, ActorRef<ToHost>> known =
        all.stream()
            .filter(each -> each.path().address().hasGlobalScope())
            .collect(Collectors.toMap(each -> each.path().address().toString(), each -> each));
    synchronized (published) {
      List<JsonNode> recent = published.at(nanos.getAsLong());
      known.values().stream()
          .filter(host -> !peers.containsValue(host))
          .forEach(host -> recent.forEach(message -> host.tell(new ToHost.Published(message))));
      peers = known;
    }
  }

  @Override
  public void send(int shard, ToShard message) {
    toShards.tell(new ShardingEnvelope<>(Integer.toString(shard), message));
  }

  @Override
  public void send(int shard, ToShard message, Duration later) {
    system.scheduler().scheduleOnce(later, () -> send(shard, message), system.executionContext());
  }

  @Override
  public boolean isMe(ActorRef<ToHost> host) {
    return me().equals(host);
  }

  @Override
  public void announce(int shard) {
    tellAll(new ToHost.Opened(shard, cluster.selfMember().address().toString()));
  }

  /** Notifies all hosts that this one leaves, and again with each {@link #repeat}. */
  void announceLeaving() {
    leaving = true;
    tellAll(new ToHost.Leaving(cluster.selfMember().address().toString()));
  }

  private void tellAll(ToHost.Sent message) {
    me().tell(message);
    peers.values().forEach(host -> host.tell(message));
  }

  // --- calls -----------------------------------------------------------------------------------

  void forward(String entityId, SessionCommand command) {
    if (command instanceof SessionCommand.DeadlinePassed passed) {
      send(Shard.of(entityId), new ToShard.StopWaiting(entityId, passed.id(), me()));
    } else if (command instanceof SessionCommand.Call call) {
      byte[] written = RemoteCall.of(call, "~" + name + "-" + call.id()).written();
      Outcome.Failure tooLarge = RemoteCall.tooLarge(written);
      if (tooLarge != null) {
        gateway.reply(call.id(), SessionReply.failure(entityId, tooLarge));
        return;
      }
      calls.put(call.id(), new Forwarded(entityId, written, nanos.getAsLong(), null, 0));
      deliver(call.id(), false);
    }
  }

  private ActorRef<ToHost> me() {
    return Objects.requireNonNull(me, "The host has not joined its cluster");
  }

  long resends() {
    return resends.get();
  }

  /** Whether the call was sent, as its caller still waits. */
  private boolean deliver(long id, boolean again) {
    Duration left = gateway.left(id);
    Forwarded call = calls.computeIfPresent(id, (same, sent) -> sent.sent(nanos.getAsLong()));
    if (left == null || call == null) {
      calls.remove(id);
      return false;
    }
    send(
        Shard.of(call.entityId()),
        new ToShard.Deliver(call.entityId(), id, call.call(), again, left.toMillis(), me()));
    return true;
  }

  private void confirmed(long id) {
    Forwarded sent = calls.get(id);
    if (sent != null && sent.host() == null) {
      long took = nanos.getAsLong() - sent.sentNanos();
      telemetry.measured(Meter.FORWARDED, (double) took, List.of());
    }
  }

  void accepted(long id, String host) {
    confirmed(id);
    calls.computeIfPresent(id, (same, call) -> call.at(host));
  }

  /** The session has moved before it replied. */
  void moved(long id) {
    calls.computeIfPresent(id, (same, sent) -> sent.at(null));
  }

  /** The reply confirms the call, too. */
  void replied(long id, SessionReply reply) {
    confirmed(id);
    gateway.reply(id, reply);
    calls.remove(id);
  }

  /** The calls that had arrived at a host are sent again. */
  void lost(String host) {
    calls.replaceAll((id, sent) -> host.equals(sent.host()) ? sent.at(null) : sent);
    completeRequests();
  }

  /**
   * A shard is open at a host. Calls that were dropped while it moved are sent again, and this host
   * learns where it is while the coordinator is there, which may leave next.
   */
  void opened(int shard) {
    touch(shard);
    opened.add(shard);
    calls.forEach(
        (id, sent) -> {
          if (sent.host() == null && Shard.of(sent.entityId()) == shard) {
            resend(id, false);
          }
        });
    deletions.forEach(
        (delete, sent) -> {
          if (sent.shard() == shard) {
            send(delete, shard);
          }
        });
  }

  private void resend(long id, boolean confirmed) {
    // A host that works on the call only confirms it again.
    if (deliver(id, true) && !confirmed) {
      resends.incrementAndGet();
    }
  }

  // --- upkeep ----------------------------------------------------------------------------------

  /** Follows sessions at the hosts that have opened their shards since the last time. */
  void followMoved() {
    Set<Integer> moved = Set.copyOf(opened);
    if (!moved.isEmpty()) {
      opened.removeAll(moved);
      follow(
          subscriptions.followed().stream()
              .filter(entityId -> moved.contains(Shard.of(entityId)))
              .toList());
    }
  }

  /** Sends again what may be lost. */
  void lookAfterCalls() {
    long now = nanos.getAsLong();
    calls.forEach(
        (id, sent) -> {
          boolean confirmed = sent.host() != null;
          boolean late = now - sent.sentNanos() > sent.patience().toNanos();
          if (late || (confirmed && gateway.left(id) == null)) {
            resend(id, confirmed);
          }
        });
    deletions.forEach(
        (delete, sent) -> {
          if (now - sent.sentNanos() > REPLIED.toNanos()) {
            send(delete, sent.shard());
          }
        });
  }

  /** Renews what this host follows, and repeats what others have not confirmed. */
  void repeat() {
    Set<String> followed = subscriptions.followed();
    heard.keySet().retainAll(followed);
    follow(followed);
    repeatRequests();
    if (leaving) {
      announceLeaving();
    }
  }

  /** Starts a shard where it is placed. */
  void touch(int shard) {
    if (!shards.isOpen(shard)) {
      send(shard, new ToShard.Touch());
    }
  }

  void heard(String entityId, ToHost.Notice notice) {
    heard.put(entityId, notice);
  }

  private void follow(Collection<String> entityIds) {
    entityIds.stream()
        .filter(entityId -> !shards.isHere(entityId))
        .collect(Collectors.groupingBy(Shard::of))
        .forEach(this::follow);
  }

  private void follow(int shard, List<String> entityIds) {
    for (int from = 0; from < entityIds.size(); from += MOST_FOLLOWED) {
      List<ToShard.Followed> some =
          entityIds.subList(from, Math.min(entityIds.size(), from + MOST_FOLLOWED)).stream()
              .map(entityId -> new ToShard.Followed(entityId, heard.get(entityId)))
              .toList();
      send(shard, new ToShard.Follow(some, me()));
    }
  }

  /** Deletes journals, each by the host that holds its shard. */
  CompletionStage<Deleted> delete(Collection<String> entityIds) {
    Map<Integer, List<String>> byShard =
        entityIds.stream().collect(Collectors.groupingBy(Shard::of));
    CompletionStage<Deleted> all = CompletableFuture.completedFuture(Deleted.NOTHING);
    for (Map.Entry<Integer, List<String>> each : byShard.entrySet()) {
      all = all.thenCombine(delete(each.getKey(), each.getValue()), Deleted::and);
    }
    return all;
  }

  private CompletionStage<Deleted> delete(int shard, List<String> ids) {
    AtomicReference<ToShard.@Nullable Delete> asked = new AtomicReference<>();
    return AskPattern.<ShardingEnvelope<ToShard>, ToShard.Deletion>ask(
            toShards,
            replyTo -> {
              ToShard.Delete delete = new ToShard.Delete(ids, replyTo);
              asked.set(delete);
              deletions.put(delete, new Deleting(shard, nanos.getAsLong()));
              return new ShardingEnvelope<>(Integer.toString(shard), delete);
            },
            DELETES,
            system.scheduler())
        .handle(
            (deletion, thrown) -> {
              ToShard.Delete over = asked.get();
              if (over != null) {
                deletions.remove(over);
              }
              String why =
                  thrown == null
                      ? deletion.why()
                      : "it has not confirmed that for %s s; erase again when all hosts are there"
                          .formatted(DELETES.toSeconds());
              if (why != null) {
                throw new CompletionException(
                    new IllegalStateException(
                        "The host of shard %s could not delete: %s".formatted(shard, why), thrown));
              }
              return deletion.deleted();
            });
  }

  /** Sends a deletion again, unless it was confirmed meanwhile. */
  private void send(ToShard.Delete delete, int shard) {
    Deleting again = new Deleting(shard, nanos.getAsLong());
    if (deletions.computeIfPresent(delete, (same, sent) -> again) != null) {
      send(shard, delete);
    }
  }

  // --- messages of servers ---------------------------------------------------------------------

  /** A host that becomes known afterwards gets it, too. */
  void publish(JsonNode message, int size) {
    synchronized (published) {
      published.add(message, size, nanos.getAsLong());
      peers.values().forEach(host -> host.tell(new ToHost.Published(message)));
    }
  }

  // --- erasures --------------------------------------------------------------------------------

  /** Passes what concerns the sessions of all hosts to all of them. */
  @Override
  public void accept(SessionRegion.Message message) {
    if (message instanceof SessionRegion.Bar bar) {
      system.tell(new SessionRegion.Bar(bar.scope(), bar(bar.scope(), bar.stopped())));
    } else if (message instanceof SessionRegion.Unbar unbar) {
      system.tell(
          new SessionRegion.Unbar(unbar.scope(), unbar.resume(), unbar(unbar, unbar.lifted())));
    } else {
      system.tell(message);
    }
  }

  /** Returns what this host is to complete; the other future completes when all hosts have. */
  private CompletableFuture<Void> bar(SessionScope scope, CompletableFuture<Void> everywhere) {
    synchronized (requests) {
      return request(new ToHost.Bar(++lastRequest, scope, me()), everywhere);
    }
  }

  private CompletableFuture<Void> unbar(
      SessionRegion.Unbar unbar, CompletableFuture<Void> everywhere) {
    synchronized (requests) {
      ToHost.Bar lifted =
          requests.values().stream()
              .map(Request::message)
              .filter(ToHost.Bar.class::isInstance)
              .map(ToHost.Bar.class::cast)
              .filter(bar -> bar.scope().equals(unbar.scope()))
              .findFirst()
              .orElseThrow();
      requests.remove(lifted.id());
      return request(
          new ToHost.Unbar(++lastRequest, lifted.id(), unbar.scope(), unbar.resume(), me()),
          everywhere);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // who asks waits for it
  private CompletableFuture<Void> request(ToHost.Sent message, CompletableFuture<Void> everywhere) {
    CompletableFuture<Void> here = new CompletableFuture<>();
    CompletableFuture<Void> elsewhere = new CompletableFuture<>();
    CompletableFuture.allOf(here, elsewhere).thenRun(() -> everywhere.complete(null));
    requests.put(lastRequest, new Request(message, new HashSet<>(), elsewhere));
    repeatRequests();
    return here;
  }

  /** Hosts that have joined meanwhile do it, too. */
  private void repeatRequests() {
    synchronized (requests) {
      requests
          .values()
          .forEach(request -> peers.values().forEach(host -> host.tell(request.message())));
      completeRequests();
    }
  }

  void confirmed(long id, String host) {
    synchronized (requests) {
      Request request = requests.get(id);
      if (request != null) {
        request.hosts().add(host);
        completeRequests();
      }
    }
  }

  /** Hosts that join are waited for, those that are lost are not; bars last until lifted. */
  private void completeRequests() {
    Set<String> members = members();
    List<Request> confirmed = new ArrayList<>();
    synchronized (requests) {
      requests.values().stream()
          .filter(request -> request.hosts().containsAll(members))
          .forEach(confirmed::add);
      requests
          .values()
          .removeIf(
              request -> request.message() instanceof ToHost.Unbar && confirmed.contains(request));
    }
    // What follows may make requests, and wait for replies that arrive here.
    confirmed.forEach(request -> request.confirmed().completeAsync(() -> null));
  }

  /** Members whose actor is not known yet are waited for, too. */
  private Set<String> members() {
    Set<String> all = upElsewhere();
    all.addAll(peers.keySet());
    return all;
  }

  /** The addresses of the other members that have not begun to leave. */
  Set<String> upElsewhere() {
    return elsewhere(UP);
  }

  /** As {@link #upElsewhere}, with those that are joining. */
  Set<String> aliveElsewhere() {
    return elsewhere(ALIVE);
  }

  private Set<String> elsewhere(Set<MemberStatus> statuses) {
    Set<String> found = new HashSet<>();
    for (Member member : cluster.state().getMembers()) {
      boolean other = !member.uniqueAddress().equals(cluster.selfMember().uniqueAddress());
      if (other && statuses.contains(member.status())) {
        found.add(member.address().toString());
      }
    }
    return found;
  }
}
