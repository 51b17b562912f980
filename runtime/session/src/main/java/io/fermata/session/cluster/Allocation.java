package io.fermata.session.cluster;

import io.fermata.persistence.spi.Shard;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Set;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.cluster.sharding.ShardCoordinator;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Map;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.concurrent.Future$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Places shards evenly on the hosts that may hold them. A host that has just started is slow, so it
 * takes few shards at first, and each time as many again as it has. The shards of a host that may
 * not hold them any more move at once. While no host may hold shards they stay where they are, and
 * none is placed.
 *
 * <p>A shard is looked after by its host also while nobody calls its sessions. Cluster sharding
 * starts it at its first message, so each is touched when it has no place or a new one, and from
 * time to time, as messages may be lost.
 */
final class Allocation implements ShardCoordinator.ActorSystemDependentAllocationStrategy {
  /** How many shards a host takes first. */
  private static final int FIRST = 2;

  /** After how many rounds all shards are touched. */
  private static final int TOUCH_ALL = 5;

  private final ShardCoordinator.ShardAllocationStrategy evenly =
      ShardCoordinator.ShardAllocationStrategy$.MODULE$.leastShardAllocationStrategy(
          Shard.COUNT, 1.0);

  private final Predicate<ActorRef> mayHold;
  private final IntConsumer touch;

  /** The places of the shards in the last round. */
  private java.util.Map<Integer, ActorRef> touched = java.util.Map.of();

  private int rounds;

  /**
   * @param mayHold whether the host of a shard region may hold shards
   * @param touch starts a shard where it is placed
   */
  Allocation(Predicate<ActorRef> mayHold, IntConsumer touch) {
    this.mayHold = mayHold;
    this.touch = touch;
  }

  @Override
  public void start(ActorSystem system) {
    if (evenly instanceof ShardCoordinator.ActorSystemDependentAllocationStrategy dependent) {
      dependent.start(system);
    }
  }

  @Override
  public Future<ActorRef> allocateShard(
      ActorRef requester, String shard, Map<ActorRef, IndexedSeq<String>> held) {
    Map<ActorRef, IndexedSeq<String>> able = held.removedAll(unable(held));
    return able.isEmpty()
        ? Future$.MODULE$.failed(
            new IllegalStateException(
                "No host of the cluster has all that its hosts agreed to run; start one that has, or stop those of the earlier release"))
        : evenly.allocateShard(requester, shard, able);
  }

  @Override
  public Future<scala.collection.immutable.Set<String>> rebalance(
      Map<ActorRef, IndexedSeq<String>> held, scala.collection.immutable.Set<String> moving) {
    scala.collection.immutable.Set<ActorRef> unable = unable(held);
    Map<ActorRef, IndexedSeq<String>> able = held.removedAll(unable);
    if (able.isEmpty()) {
      return moved(Set.of());
    }
    Future<scala.collection.immutable.Set<String>> next = next(held, unable, able, moving);
    return next.map(
        shards -> {
          Set<String> leaving = new HashSet<>(CollectionConverters.asJava(moving));
          leaving.addAll(CollectionConverters.asJava(shards));
          touch(held, leaving);
          return shards;
        },
        ExecutionContext.parasitic$.MODULE$);
  }

  private Future<scala.collection.immutable.Set<String>> next(
      Map<ActorRef, IndexedSeq<String>> held,
      scala.collection.immutable.Set<ActorRef> unable,
      Map<ActorRef, IndexedSeq<String>> able,
      scala.collection.immutable.Set<String> moving) {
    Set<String> misplaced = new HashSet<>();
    for (ActorRef region : CollectionConverters.asJava(unable)) {
      misplaced.addAll(CollectionConverters.asJava(held.apply(region)));
    }
    if (misplaced.isEmpty()) {
      int most = Math.max(FIRST, fewest(able));
      return evenly
          .rebalance(able, moving)
          .map(shards -> first(most, shards), ExecutionContext.parasitic$.MODULE$);
    }
    misplaced.removeAll(CollectionConverters.asJava(moving));
    return moved(misplaced);
  }

  /** A shard that moves is left alone: what it is sent is dropped. */
  private void touch(Map<ActorRef, IndexedSeq<String>> held, Set<String> moving) {
    java.util.Map<Integer, ActorRef> places = new HashMap<>();
    CollectionConverters.asJava(held)
        .forEach(
            (region, shards) ->
                CollectionConverters.asJava(shards)
                    .forEach(shard -> places.put(Integer.valueOf(shard), region)));
    boolean all = ++rounds % TOUCH_ALL == 0;
    Shard.all()
        .filter(shard -> !moving.contains(Integer.toString(shard)))
        .filter(shard -> all || isNew(places.get(shard), touched.get(shard)))
        .forEach(touch);
    moving.forEach(shard -> places.remove(Integer.valueOf(shard)));
    touched = places;
  }

  private static boolean isNew(@Nullable ActorRef place, @Nullable ActorRef touched) {
    return place == null || !place.equals(touched);
  }

  private static scala.collection.immutable.Set<String> first(
      int most, scala.collection.immutable.Set<String> shards) {
    return CollectionConverters.asScala(
            CollectionConverters.asJava(shards).stream().limit(most).collect(Collectors.toSet()))
        .toSet();
  }

  private static int fewest(Map<ActorRef, IndexedSeq<String>> held) {
    return CollectionConverters.asJava(held).values().stream()
        .mapToInt(IndexedSeq::size)
        .min()
        .orElse(0);
  }

  private scala.collection.immutable.Set<ActorRef> unable(Map<ActorRef, ?> held) {
    Set<ActorRef> unable = new HashSet<>(CollectionConverters.asJava(held.keySet()));
    unable.removeIf(mayHold);
    return CollectionConverters.asScala(unable).toSet();
  }

  private static Future<scala.collection.immutable.Set<String>> moved(Set<String> shards) {
    return Future$.MODULE$.successful(CollectionConverters.asScala(shards).toSet());
  }
}
