package io.fermata.session.cluster;

import io.fermata.persistence.spi.Shard;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
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
 * takes few shards at first, and each second as many again as it has. The shards of a host that
 * leaves, or may not hold them any more, move to the others. While no host may hold shards they
 * stay where they are, and none is placed.
 *
 * <p>Few shards move at a time: cluster sharding takes all of them from their hosts before it
 * places the first, so the sessions of each wait for all.
 *
 * <p>A shard is looked after by its host also while nobody calls its sessions. Cluster sharding
 * starts it at its first message, so each is touched when it has no place or a new one, and from
 * time to time, as messages may be lost.
 */
final class Allocation implements ShardCoordinator.ActorSystemDependentAllocationStrategy {
  /** How many shards a host takes first. */
  private static final int FIRST = 2;

  /** How many shards move at a time. */
  private static final int MOST_MOVING = 8;

  /** A shard whose sessions work on does not keep others from moving for longer. */
  private static final long PROMPT = Duration.ofSeconds(1).toNanos();

  /** A host that has started takes more each time. */
  private static final long TAKES = Duration.ofSeconds(1).toNanos();

  /** All shards are touched each time. */
  private static final long TOUCH_ALL = Duration.ofSeconds(5).toNanos();

  private final ShardCoordinator.ShardAllocationStrategy evenly =
      ShardCoordinator.ShardAllocationStrategy$.MODULE$.leastShardAllocationStrategy(
          Shard.COUNT, 1.0);

  private final Predicate<ActorRef> mayHold;
  private final Predicate<ActorRef> leaves;
  private final BooleanSupplier allReachable;
  private final IntConsumer touch;
  private final Consumer<String> stopped;
  private final LongSupplier nanos;

  /** The places of the shards in the last round. */
  private java.util.Map<Integer, ActorRef> touched = java.util.Map.of();

  private long touchedAll;

  /** How many more shards a host that has started may take until it may take more. */
  private int allowance;

  private long allowedAt;

  /** The shards that move, and when that was first seen. */
  private final java.util.Map<String, Long> movingSince = new HashMap<>();

  /**
   * @param mayHold whether the host of a shard region may hold shards
   * @param leaves whether that host leaves
   * @param allReachable whether all hosts can be reached, which each shard that moves waits for
   * @param touch starts a shard where it is placed
   * @param stopped ends the hand-over of a shard, as its host is gone
   */
  Allocation(
      Predicate<ActorRef> mayHold,
      Predicate<ActorRef> leaves,
      BooleanSupplier allReachable,
      IntConsumer touch,
      Consumer<String> stopped,
      LongSupplier nanos) {
    this.mayHold = mayHold;
    this.leaves = leaves;
    this.allReachable = allReachable;
    this.touch = touch;
    this.stopped = stopped;
    this.nanos = nanos;
    this.touchedAll = nanos.getAsLong();
    this.allowedAt = touchedAll;
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
    Map<ActorRef, IndexedSeq<String>> able = without(held, mayHold.negate());
    Map<ActorRef, IndexedSeq<String>> staying = without(able, leaves);
    return able.isEmpty()
        ? Future$.MODULE$.failed(
            new IllegalStateException(
                "No host of the cluster has all that its hosts agreed to run; start one that has, or stop those of the earlier release"))
        : evenly.allocateShard(requester, shard, staying.isEmpty() ? able : staying);
  }

  @Override
  public Future<scala.collection.immutable.Set<String>> rebalance(
      Map<ActorRef, IndexedSeq<String>> held, scala.collection.immutable.Set<String> moving) {
    Set<String> already = CollectionConverters.asJava(moving);
    Set<String> placed = shards(held);
    endHandOversOfLostHosts(placed, already);
    Map<ActorRef, IndexedSeq<String>> staying = without(held, mayHold.negate().or(leaves));
    if (staying.isEmpty()) {
      return none();
    }
    int unplaced = Shard.COUNT - placed.size();
    int room = MOST_MOVING - unplaced - movingLately(already);
    Set<String> misplaced = shards(held.removedAll(staying.keySet()));
    Future<Set<String>> next;
    if (!allReachable.getAsBoolean()) {
      next = Future$.MODULE$.successful(Set.of());
    } else if (misplaced.isEmpty()) {
      next = evened(staying, already, unplaced, room);
    } else {
      next = Future$.MODULE$.successful(first(room, misplaced, already));
    }
    return next.map(
        shards -> {
          Set<String> all = new HashSet<>(already);
          all.addAll(shards);
          touch(held, all);
          return CollectionConverters.asScala(shards).toSet();
        },
        ExecutionContext.parasitic$.MODULE$);
  }

  /**
   * A shard that moves is held until its host has closed it. Cluster sharding asks that host after
   * all others have confirmed the move, also if it is gone by then, and would wait for its answer
   * until the hand-over times out.
   */
  private void endHandOversOfLostHosts(Set<String> placed, Set<String> moving) {
    moving.stream().filter(shard -> !placed.contains(shard)).forEach(stopped);
  }

  private static <T> Future<scala.collection.immutable.Set<T>> none() {
    return Future$.MODULE$.successful(scala.collection.immutable.Set$.MODULE$.empty());
  }

  private int movingLately(Set<String> moving) {
    long now = nanos.getAsLong();
    movingSince.keySet().retainAll(moving);
    moving.forEach(shard -> movingSince.putIfAbsent(shard, now));
    return (int) movingSince.values().stream().filter(from -> now - from < PROMPT).count();
  }

  /** What hosts that have fewer shards than others take from them. */
  private Future<Set<String>> evened(
      Map<ActorRef, IndexedSeq<String>> staying, Set<String> already, int unplaced, int room) {
    allow(Math.max(FIRST, fewest(staying)));
    return evenly
        .rebalance(staying, scala.collection.immutable.Set$.MODULE$.empty())
        .map(
            wanted -> {
              int left = wanted.size() - already.size() - unplaced;
              int most = Math.min(Math.min(room, allowance), left);
              Set<String> next = first(most, CollectionConverters.asJava(wanted), already);
              allowance -= next.size();
              return next;
            },
            ExecutionContext.parasitic$.MODULE$);
  }

  private void allow(int asManyAgain) {
    long now = nanos.getAsLong();
    if (now - allowedAt >= TAKES) {
      allowedAt = now;
      allowance = asManyAgain;
    }
    allowance = Math.min(allowance, asManyAgain);
  }

  private static Set<String> shards(Map<ActorRef, IndexedSeq<String>> held) {
    Set<String> shards = new HashSet<>();
    CollectionConverters.asJava(held)
        .values()
        .forEach(some -> shards.addAll(CollectionConverters.asJava(some)));
    return shards;
  }

  private static Set<String> first(int most, Set<String> shards, Set<String> except) {
    return shards.stream()
        .filter(shard -> !except.contains(shard))
        .limit(Math.max(0, most))
        .collect(Collectors.toSet());
  }

  /** A shard that moves is left alone: what it is sent is dropped. */
  private void touch(Map<ActorRef, IndexedSeq<String>> held, Set<String> moving) {
    java.util.Map<Integer, ActorRef> places = new HashMap<>();
    CollectionConverters.asJava(held)
        .forEach(
            (region, shards) ->
                CollectionConverters.asJava(shards)
                    .forEach(shard -> places.put(Integer.valueOf(shard), region)));
    boolean all = nanos.getAsLong() - touchedAll >= TOUCH_ALL;
    if (all) {
      touchedAll = nanos.getAsLong();
    }
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

  private static int fewest(Map<ActorRef, IndexedSeq<String>> held) {
    return CollectionConverters.asJava(held).values().stream()
        .mapToInt(IndexedSeq::size)
        .min()
        .orElse(0);
  }

  private static Map<ActorRef, IndexedSeq<String>> without(
      Map<ActorRef, IndexedSeq<String>> held, Predicate<ActorRef> which) {
    List<ActorRef> those =
        CollectionConverters.asJava(held.keySet()).stream().filter(which).toList();
    return held.removedAll(CollectionConverters.asScala(those));
  }
}
