package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.ConfigFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.IndexedSeq;
import scala.concurrent.Await;
import scala.concurrent.Future;
import scala.jdk.javaapi.CollectionConverters;

class AllocationTest {
  /** A cluster takes seconds to form, and no test changes it. */
  private static final ActorTestKit KIT =
      ActorTestKit.create(
          ConfigFactory.parseString(
              """
              pekko {
                actor.provider = cluster
                cluster.jmx.enabled = off
                remote.artery.canonical { hostname = 127.0.0.1, port = 0 }
              }
              """));

  private final ActorRef old = Adapter.toClassic(KIT.createTestProbe().ref());
  private final ActorRef young = Adapter.toClassic(KIT.createTestProbe().ref());
  private final Set<ActorRef> able = new HashSet<>(Set.of(old, young));
  private final Set<ActorRef> leaving = new HashSet<>();
  private final List<Integer> touched = new ArrayList<>();
  private final List<String> stopped = new ArrayList<>();
  private final AtomicBoolean reachable = new AtomicBoolean(true);
  private final AtomicLong nanos = new AtomicLong();
  private final Allocation allocation =
      new Allocation(
          able::contains,
          leaving::contains,
          reachable::get,
          touched::add,
          stopped::add,
          nanos::get);

  @BeforeAll
  static void join() {
    Cluster cluster = Cluster.get(KIT.system());
    cluster.manager().tell(Join.create(cluster.selfMember().address()));
    KIT.createTestProbe()
        .awaitAssert(
            Duration.ofSeconds(60),
            () -> {
              assertThat(cluster.selfMember().status()).isEqualTo(MemberStatus.up());
              return cluster;
            });
  }

  @AfterAll
  static void stop() {
    KIT.shutdownTestKit();
  }

  @BeforeEach
  void start() {
    allocation.start(Adapter.toClassic(KIT.system()));
  }

  private scala.collection.immutable.Map<ActorRef, IndexedSeq<String>> held(
      int byOld, int byYoung) {
    Map<ActorRef, IndexedSeq<String>> held = new HashMap<>();
    held.put(old, shards(0, byOld));
    held.put(young, shards(byOld, byOld + byYoung));
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(held));
  }

  private static IndexedSeq<String> shards(int from, int to) {
    List<String> names = IntStream.range(from, to).mapToObj(Integer::toString).toList();
    return CollectionConverters.asScala(names).toIndexedSeq();
  }

  private static <T> T now(Future<T> future) throws Exception {
    return Await.result(
        future, scala.jdk.javaapi.DurationConverters.toScala(Duration.ofSeconds(9)));
  }

  /** What moves in the next round, a fifth of a second later. */
  private Set<String> moved(int byOld, int byYoung, String... moving) throws Exception {
    nanos.addAndGet(Duration.ofMillis(200).toNanos());
    return CollectionConverters.asJava(
        now(
            allocation.rebalance(
                held(byOld, byYoung), CollectionConverters.asScala(Set.of(moving)).toSet())));
  }

  /** How many shards move in the rounds of a second, each at once. */
  private int movedInASecond(int byOld, int byYoung) throws Exception {
    int moved = 0;
    for (int round = 0; round < 5; round++) {
      moved += moved(byOld - moved, byYoung + moved).size();
    }
    return moved;
  }

  @Test
  void aShardIsPlacedOnAHostThatMayHoldIt() throws Exception {
    assertThat(now(allocation.allocateShard(old, "9", held(5, 0)))).isEqualTo(young);
    able.remove(young);
    assertThat(now(allocation.allocateShard(old, "9", held(5, 0)))).isEqualTo(old);
  }

  @Test
  void noShardIsPlacedWhileNoHostMayHoldIt() {
    able.clear();
    assertThatThrownBy(() -> now(allocation.allocateShard(old, "9", held(5, 0))))
        .hasMessageContaining("No host of the cluster has all that its hosts agreed to run");
  }

  @Test
  void theShardsOfAHostThatMayHoldNoneMoveAFewAtATime() throws Exception {
    able.remove(old);
    assertThat(moved(3, 125)).containsExactlyInAnyOrder("0", "1", "2");
    assertThat(moved(64, 64)).hasSize(8);
  }

  @Test
  void soDoThoseOfAHostThatLeaves() throws Exception {
    leaving.add(old);
    assertThat(moved(64, 64)).hasSize(8);
    able.remove(old);
    assertThat(moved(64, 64)).hasSize(8);
    assertThat(moved(0, 128)).isEmpty();
  }

  @Test
  void noMoreMoveUntilThoseBeforeHaveAPlace() throws Exception {
    leaving.add(old);
    assertThat(moved(10, 118, "0", "1", "2", "3", "4", "5", "6", "7")).isEmpty();
    assertThat(moved(7, 114, "0")).isEmpty();
    assertThat(moved(7, 116, "0", "1")).hasSize(1).doesNotContain("0", "1");
  }

  @Test
  void noneMovesWhileAHostCannotBeReachedWhichAllThatMoveWouldWaitFor() throws Exception {
    leaving.add(old);
    reachable.set(false);
    assertThat(moved(64, 64)).isEmpty();
    reachable.set(true);
    assertThat(moved(64, 64)).isNotEmpty();
  }

  @Test
  void aShardWithoutAPlaceCountsForTheHostThatWillHaveIt() throws Exception {
    assertThat(movedInASecond(64, 62)).isZero();
  }

  @Test
  void aShardWhoseSessionsWorkOnDoesNotKeepOthersFromMoving() throws Exception {
    leaving.add(old);
    String[] slow = {"0", "1", "2", "3", "4", "5", "6", "7"};
    for (int round = 0; round < 5; round++) {
      assertThat(moved(10, 118, slow)).isEmpty();
    }
    assertThat(moved(10, 118, slow)).containsExactlyInAnyOrder("8", "9");
  }

  @Test
  void aHostThatHasJustStartedTakesFewShardsFirstAndThenMore() throws Exception {
    int taken = 0;
    for (int more : List.of(2, 2, 4, 8)) {
      assertThat(movedInASecond(128 - taken, taken)).isEqualTo(more);
      taken += more;
    }
    for (int second = 0; second < 4; second++) {
      taken += movedInASecond(128 - taken, taken);
    }
    assertThat(taken).isEqualTo(64);

    assertThat(movedInASecond(128, 0)).as("by another host, later").isLessThanOrEqualTo(4);
  }

  @Test
  void noShardIsPlacedOnAHostThatLeavesUnlessAllLeave() throws Exception {
    leaving.add(young);
    assertThat(now(allocation.allocateShard(young, "9", held(5, 0)))).isEqualTo(old);
    assertThat(movedInASecond(128, 0)).isZero();

    leaving.add(old);
    assertThat(now(allocation.allocateShard(old, "9", held(5, 0)))).isEqualTo(young);
    assertThat(movedInASecond(100, 28)).isZero();
  }

  @Test
  void shardsStayWhereTheyAreWhileNoHostMayHoldThem() throws Exception {
    able.clear();
    assertThat(movedInASecond(100, 28)).isZero();
  }

  private List<Integer> touched(int byOld, int byYoung, String... moving) throws Exception {
    touched.clear();
    moved(byOld, byYoung, moving);
    return List.copyOf(touched);
  }

  @Test
  void aShardIsTouchedWhileItHasNoPlaceAndOnceInEachNewPlace() throws Exception {
    assertThat(touched(63, 64)).hasSize(128);
    assertThat(touched(63, 64)).containsExactly(127);
    assertThat(touched(63, 65)).containsExactly(127);
    assertThat(touched(64, 64)).containsExactly(63);
  }

  @Test
  void aShardIsNotTouchedWhileItMovesButAfterwards() throws Exception {
    touched(64, 64);
    assertThat(touched(64, 64, "5")).isEmpty();
    assertThat(touched(64, 64)).containsExactly(5);
  }

  @Test
  void aShardThatIsToMoveIsNotTouchedAnyMore() throws Exception {
    leaving.add(old);
    assertThat(moved(128, 0)).hasSize(8).doesNotContainAnyElementsOf(names(touched));
    assertThat(touched).hasSize(120);
  }

  private static List<String> names(List<Integer> shards) {
    return shards.stream().map(String::valueOf).toList();
  }

  @Test
  void allShardsAreTouchedFromTimeToTime() throws Exception {
    for (int round = 1; round < 25; round++) {
      touched(64, 64);
    }
    assertThat(touched(64, 64)).hasSize(128);
  }

  @Test
  void theHandOverOfAShardWhoseHostIsGoneEnds() throws Exception {
    moved(64, 64, "5");
    assertThat(stopped).as("its host closes it").isEmpty();
    moved(64, 63, "5", "127");
    assertThat(stopped).containsExactly("127");
    able.clear();
    moved(64, 63, "127");
    assertThat(stopped).as("it may not have heard").containsExactly("127", "127");
  }
}
