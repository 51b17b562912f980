package io.fermata.session.cluster;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.flow.json.Digests;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.Placement;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.ClusterSettings;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.HostBus;
import io.fermata.session.observe.Telemetry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.pekko.Done;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.SupervisorStrategy;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.ShardCoordinator$Internal$ShardStopped;
import org.apache.pekko.cluster.sharding.typed.ShardingEnvelope;
import org.apache.pekko.cluster.sharding.typed.ShardingMessageExtractor;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This host's part in the cluster of the hosts that share its store. */
public final class HostCluster {
  private static final Logger LOG = LoggerFactory.getLogger(HostCluster.class);
  private static final EntityTypeKey<ToShard> SHARDS =
      EntityTypeKey.create(ToShard.class, "fermata-shard");

  /** The actors of the coordinator that each move a shard. */
  private static final String HAND_OVERS =
      "/system/sharding/%sCoordinator/singleton/coordinator/*".formatted(SHARDS.name());

  /**
   * What a shard may take until it is released, after its sessions had their time. Cluster sharding
   * stops it five seconds before that.
   */
  private static final Duration HANDED_OVER = Duration.ofSeconds(10);

  /** What leaving may take, after the sessions had their time. */
  private static final Duration LEFT = Duration.ofSeconds(15);

  /** How long shards may move a few at a time before that. */
  private static final Duration MOVING = Duration.ofSeconds(6);

  private static final Duration LOOK = Duration.ofMillis(50);

  private final Shards shards;
  private final SharedStore store;
  private final ClusterSettings settings;
  private final Telemetry telemetry;
  private final Config tls;

  private final ClusterBus bus;

  private volatile @Nullable Joined joined;
  private volatile boolean leaving;

  /** What there is once the host has begun to join. */
  private record Joined(
      Membership membership,
      Forwarder forwarder,
      ShardHost shardHost,
      ActorSystem<SessionRegion.Message> system,
      View view) {}

  private Joined joined() {
    return Objects.requireNonNull(joined, "The host has not joined its cluster");
  }

  /**
   * The cluster of a store's hosts.
   *
   * @throws IllegalStateException if hosts would talk unencrypted where others may listen, their
   *     certificate cannot be used, or this host cannot listen at its address
   */
  public HostCluster(
      SharedStore store, ClusterSettings settings, Config config, Telemetry telemetry) {
    this.store = store;
    this.shards = new Shards(store, settings.handOver());
    this.settings = settings;
    this.telemetry = telemetry;
    this.bus =
        new ClusterBus((message, size) -> joined().forwarder().publish(message, size), store);
    this.tls = settings.tls() == null ? ConfigFactory.empty() : ClusterTls.config(settings.tls());
    Config transport = config.withFallback(tls);
    boolean encrypted =
        transport.hasPath("pekko.remote.artery.transport")
            && transport.getString("pekko.remote.artery.transport").equals("tls-tcp");
    if (!settings.isLocal() && !settings.plaintext() && !encrypted) {
      throw new IllegalStateException(
          "The hosts of the cluster would talk unencrypted at %s. Name the directory of their certificate with tls(…), or allow it with inPlaintext() if nobody else can read or write that network"
              .formatted(settings.address()));
    }
    requireFree(config.withFallback(config()).withFallback(ConfigFactory.load()));
  }

  /** Pekko logs the failure as one of its own, and names no next step. */
  private static void requireFree(Config whole) {
    Config artery = whole.getConfig("pekko.remote.artery");
    String bound = artery.getString("bind.hostname");
    String host = bound.isEmpty() ? artery.getString("canonical.hostname") : bound;
    if (host.startsWith("<")) {
      return; // Pekko looks the address of this machine up.
    }
    String port = artery.getString("bind.port");
    int number = port.isEmpty() ? artery.getInt("canonical.port") : Integer.parseInt(port);
    try {
      ClusterHost.requireFree(host, number);
    } catch (IOException e) {
      throw new IllegalStateException(
          "This host cannot listen at %s:%s, where the other hosts of its cluster would reach it (%s). Stop the program that listens there, or choose another port, or an address of this machine"
              .formatted(host, number, e.getMessage()),
          e);
    }
  }

  public Placement placement() {
    return shards;
  }

  /** The configuration of the actor system, besides that of a single host. */
  public Config config() {
    return ConfigFactory.parseMap(
            Map.of(
                "pekko.remote.artery.canonical.hostname", settings.address(),
                "pekko.remote.artery.canonical.port", settings.port(),
                "pekko.cluster.sharding.handoff-timeout", settings.handOver().plus(HANDED_OVER),
                "pekko.coordinated-shutdown.phases.cluster-sharding-shutdown-region.timeout",
                    settings.handOver().plus(HANDED_OVER)))
        .withFallback(tls)
        .withFallback(ConfigFactory.parseResources(HostCluster.class, "/fermata-cluster.conf"));
  }

  /** Passes the store to the actor system. */
  public Setup setup() {
    return new StoreLease.StoreSetup(store);
  }

  /**
   * Hosts of another store do not even speak with those of this one: the name of the actor system
   * is derived from a secret of the store.
   */
  public static String systemName(byte[] serverKey) {
    byte[] name =
        Digests.signature("cluster".getBytes(StandardCharsets.UTF_8), Digests.key(serverKey));
    return "fermata-" + HexFormat.of().formatHex(name, 0, 16);
  }

  /** The upkeep of the shards of this host. */
  public interface ShardUpkeep {
    /**
     * This host holds a shard now.
     *
     * @param mark up to which entry the directory is complete
     * @param context the actor of the shard, which stops when the shard moves
     */
    void opened(int shard, long mark, ActorContext<?> context);

    /**
     * The sessions of a shard have stopped, and it is about to be released.
     *
     * @return completes when nothing is left to be written of it
     */
    CompletionStage<?> closing();

    /** This host does not hold a shard any more. */
    void closed(int shard);

    /** From now on runs start on these versions of flows at most, and migrate to no later ones. */
    void agreed(Map<String, Integer> newest);

    /** Sessions are to be erased and have stopped; what is known of them is dropped. */
    CompletionStage<Void> stopped(SessionScope scope);

    /** Deletes journals of a shard that this host holds. */
    CompletionStage<Deleted> delete(List<String> entityIds);
  }

  /**
   * Joins the hosts of the store, and takes a part of the shards.
   *
   * @param offers what this host runs
   * @throws IllegalStateException if that is not possible; the message says why
   */
  public void join(
      ActorSystem<SessionRegion.Message> hostSystem,
      Gateway gateway,
      SessionSubscriptions subscriptions,
      ShardUpkeep upkeep,
      Offers offers) {
    Cluster cluster = Cluster.get(hostSystem);
    Agreement agreement =
        new Agreement(
            offers,
            all -> {
              shards.agreed(offers, all);
              upkeep.agreed(all.newest());
            });
    Membership membership =
        new Membership(
            store,
            cluster,
            agreement,
            new EndedHosts(address -> EndedHosts.refuses(address, hostSystem), System::nanoTime));
    ShardHost host =
        new ShardHost(
            store, membership, shards, gateway, hostSystem, subscriptions, upkeep, telemetry);
    ActorRef<ShardingEnvelope<ToShard>> toShards =
        ClusterSharding.get(hostSystem)
            .init(
                Entity.of(
                        SHARDS,
                        entity -> ShardActor.create(Integer.parseInt(entity.getEntityId()), host))
                    .withStopMessage(new ToShard.HandOver())
                    .withMessageExtractor(new EachItsOwn())
                    .withAllocationStrategy(
                        new Allocation(
                            region ->
                                isRemote(region)
                                    ? agreement.mayHold(region.path().address().toString())
                                    : agreement.mayHold(),
                            region ->
                                membership.isLeaving(
                                    isRemote(region)
                                        ? region.path().address().toString()
                                        : membership.address()),
                            () -> cluster.state().getUnreachable().isEmpty(),
                            shard -> joined().forwarder().touch(shard),
                            shard ->
                                Adapter.toClassic(hostSystem)
                                    .actorSelection(HAND_OVERS)
                                    .tell(
                                        new ShardCoordinator$Internal$ShardStopped(shard),
                                        org.apache.pekko.actor.ActorRef.noSender()),
                            System::nanoTime)));
    Forwarder forwarder =
        new Forwarder(
            membership.id(),
            cluster,
            shards,
            gateway,
            subscriptions,
            toShards,
            hostSystem,
            telemetry,
            System::nanoTime);
    forwarder.start(
        hostSystem.systemActorOf(
            // If it stopped, the host would get no replies, and nothing would restart it.
            Behaviors.supervise(
                    HostActor.create(
                        forwarder,
                        membership,
                        host,
                        gateway,
                        subscriptions,
                        new RemoteBars(hostSystem, upkeep, membership.address()),
                        bus))
                .onFailure(SupervisorStrategy.resume()),
            "fermata-host",
            Props.empty()));
    host.reachOthersBy(forwarder);
    View view = new View(cluster, membership, shards, forwarder, store);
    joined = new Joined(membership, forwarder, host, hostSystem, view);
    membership.join();
    telemetry.opened(view.gauges());
    org.apache.pekko.cluster.Cluster.get(Adapter.toClassic(hostSystem))
        .registerOnMemberRemoved(
            () -> {
              if (!leaving) {
                membership.removed();
              }
            });
  }

  private static boolean isRemote(org.apache.pekko.actor.ActorRef region) {
    return region.path().address().hasGlobalScope();
  }

  /** A shard of cluster sharding is one of ours, and has one entity of the same name. */
  private static final class EachItsOwn
      extends ShardingMessageExtractor<ShardingEnvelope<ToShard>, ToShard> {
    @Override
    public String entityId(ShardingEnvelope<ToShard> envelope) {
      return envelope.entityId();
    }

    @Override
    public String shardId(String entityId) {
      return entityId;
    }

    @Override
    public ToShard unwrapMessage(ShardingEnvelope<ToShard> envelope) {
      return envelope.message();
    }
  }

  /** What this host sees of its cluster. */
  public ClusterHealth health() {
    return joined().view().health();
  }

  /** Completes with the reason if this host is no member any more and must end. */
  public CompletionStage<String> lost() {
    return joined().membership().lost();
  }

  /** Stops sessions on all hosts, and lets them be reached again. */
  public Consumer<SessionRegion.Message> everywhere() {
    return message -> joined().forwarder().accept(message);
  }

  /** Passes messages between the servers of the hosts. */
  public HostBus bus() {
    return bus;
  }

  /** Deletes journals, each by the host that holds its shard. */
  public CompletionStage<Deleted> delete(Collection<String> entityIds) {
    return joined().forwarder().delete(entityIds);
  }

  /** Whether there are hosts that take over the sessions of this one. */
  public boolean hasOthers() {
    return !joined().forwarder().upElsewhere().isEmpty();
  }

  /** Hands the shards of this host over to others, if there are any, and leaves. */
  public void leave() {
    leaving = true;
    if (hasOthers()) {
      handOver(joined());
    } else {
      joined().membership().leave();
    }
    joined().membership().end();
    stop();
  }

  private void handOver(Joined here) {
    Duration most = settings.handOver().plus(LEFT);
    try {
      Departure departure = here.shardHost().depart();
      here.forwarder().announceLeaving();
      here.membership().leave();
      awaitMoved(departure.done());
      CoordinatedShutdown shutdown = CoordinatedShutdown.get(Adapter.toClassic(here.system()));
      shutdown.addTask(
          CoordinatedShutdown.PhaseClusterShardingShutdownRegion(),
          "fermata-departure",
          () -> departure.done().thenApply(left -> Done.getInstance()));
      awaitLeft(
          shutdown.runAll(CoordinatedShutdown.clusterLeavingReason()).toCompletableFuture(),
          departure,
          most);
    } catch (ExecutionException e) {
      LOG.warn("Closing: the cluster could not be left", e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Shards move a few at a time, so that no session waits for long. What has not moved in time, or
   * as nobody stays, closes when cluster sharding shuts down here.
   */
  private void awaitMoved(CompletableFuture<Void> departure) throws InterruptedException {
    long end = System.nanoTime() + MOVING.toNanos();
    while (!departure.isDone()
        && stays(joined().forwarder().upElsewhere())
        && !lost().toCompletableFuture().isDone()
        && System.nanoTime() - end < 0) {
      Thread.sleep(LOOK.toMillis());
    }
  }

  /** Hosts that all leave would wait in vain for each other to confirm it. */
  private void awaitLeft(CompletableFuture<Done> left, Departure departure, Duration most)
      throws InterruptedException, ExecutionException {
    long end = System.nanoTime() + most.toNanos();
    while (!departure.isClosed() || stays(joined().forwarder().aliveElsewhere())) {
      try {
        left.get(LOOK.toMillis(), TimeUnit.MILLISECONDS);
        return;
      } catch (TimeoutException e) {
        if (System.nanoTime() - end > 0) {
          LOG.warn("Closing: the cluster did not take all shards of this host within {}", most);
          return;
        }
      }
    }
  }

  /** Whether one of these hosts has not announced that it leaves. */
  private boolean stays(Set<String> hosts) {
    return hosts.stream().anyMatch(host -> !joined().membership().isLeaving(host));
  }

  /** Stops without leaving, as a crash would. */
  public void stop() {
    leaving = true;
    Joined now = joined;
    if (now != null) {
      telemetry.closed(now.view().gauges());
      now.membership().stop();
    }
  }
}
