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
import java.util.stream.IntStream;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.IndexedSeq;
import scala.concurrent.Await;
import scala.concurrent.Future;
import scala.jdk.javaapi.CollectionConverters;

class AllocationTest {
  private final ActorTestKit kit =
      ActorTestKit.create(
          ConfigFactory.parseString(
              """
              pekko {
                actor.provider = cluster
                cluster.jmx.enabled = off
                remote.artery.canonical { hostname = 127.0.0.1, port = 0 }
              }
              """));
  private final ActorRef old = Adapter.toClassic(kit.createTestProbe().ref());
  private final ActorRef young = Adapter.toClassic(kit.createTestProbe().ref());
  private final Set<ActorRef> able = new HashSet<>(Set.of(old, young));
  private final List<Integer> touched = new ArrayList<>();
  private final Allocation allocation = new Allocation(able::contains, touched::add);

  @BeforeEach
  void start() {
    Cluster cluster = Cluster.get(kit.system());
    cluster.manager().tell(Join.create(cluster.selfMember().address()));
    kit.createTestProbe()
        .awaitAssert(
            () -> {
              assertThat(cluster.selfMember().status()).isEqualTo(MemberStatus.up());
              return cluster;
            });
    allocation.start(Adapter.toClassic(kit.system()));
  }

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
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

  private Set<String> moved(int byOld, int byYoung) throws Exception {
    return CollectionConverters.asJava(
        now(
            allocation.rebalance(
                held(byOld, byYoung), scala.collection.immutable.Set$.MODULE$.empty())));
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
  void theShardsOfAHostThatMayHoldNoneMove() throws Exception {
    able.remove(old);
    assertThat(moved(3, 1)).containsExactlyInAnyOrder("0", "1", "2");
  }

  @Test
  void aHostThatHasJustStartedTakesFewShardsFirstAndThenMore() throws Exception {
    assertThat(moved(128, 0)).hasSize(2);
    assertThat(moved(126, 2)).hasSize(2);
    assertThat(moved(116, 12)).hasSize(12);
    assertThat(moved(68, 60)).hasSize(4);
    assertThat(moved(64, 64)).isEmpty();
  }

  @Test
  void shardsStayWhereTheyAreWhileNoHostMayHoldThem() throws Exception {
    able.clear();
    assertThat(moved(3, 1)).isEmpty();
  }

  private List<Integer> touched(int byOld, int byYoung, String... moving) throws Exception {
    touched.clear();
    now(
        allocation.rebalance(
            held(byOld, byYoung), CollectionConverters.asScala(Set.of(moving)).toSet()));
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
    assertThat(moved(128, 0)).hasSize(2).doesNotContainAnyElementsOf(names(touched));
    assertThat(touched).hasSize(126);
  }

  private static List<String> names(List<Integer> shards) {
    return shards.stream().map(String::valueOf).toList();
  }

  @Test
  void allShardsAreTouchedFromTimeToTime() throws Exception {
    for (int round = 1; round < 5; round++) {
      touched(64, 64);
    }
    assertThat(touched(64, 64)).hasSize(128);
  }
}
