package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.SessionScope;
import io.fermata.session.observe.Telemetry;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.cluster.typed.Cluster;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How a shard opens and closes at a host. */
class ShardActorTest {
  private static final int SHARD = 7;
  private static final String RELEASED = "released";
  private static final Duration LONG = Duration.ofHours(1);

  private final ActorTestKit kit =
      ActorTestKit.create(
          ConfigFactory.parseString(
                  """
                  pekko.actor.provider = cluster
                  pekko.remote.artery.canonical.port = 0
                  pekko.actor.testkit.typed.single-expect-default = 60 s
                  """)
              .withFallback(ConfigFactory.load()));
  private final TestProbe<SessionRegion.Message> region = kit.createTestProbe();
  private final TestProbe<Integer> announced = kit.createTestProbe();
  private final TestProbe<String> store = kit.createTestProbe();
  private final TestProbe<ToHost> me = kit.createTestProbe();
  private final TestProbe<ToHost> other = kit.createTestProbe();

  /** Completes when the shard may be taken. */
  private final CompletableFuture<Long> acquired = new CompletableFuture<>();

  private final AtomicInteger deletions = new AtomicInteger();

  /** Completes when the last changes of the sessions are listed. */
  private CompletableFuture<Void> listed = CompletableFuture.completedFuture(null);

  /** A database that any host may take shards in. */
  private SharedStore database() {
    return (SharedStore)
        Proxy.newProxyInstance(
            SharedStore.class.getClassLoader(),
            new Class<?>[] {SharedStore.class},
            (proxy, method, arguments) ->
                switch (method.getName()) {
                  case "acquire" -> acquired;
                  case "release" -> {
                    store.ref().tell(RELEASED);
                    yield CompletableFuture.completedFuture(null);
                  }
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }

  private final class NoUpkeep implements HostCluster.ShardUpkeep {
    @Override
    public void opened(int shard, long mark, ActorContext<?> context) {}

    @Override
    public CompletionStage<?> closing() {
      return listed;
    }

    @Override
    public void closed(int shard) {}

    @Override
    public void agreed(Map<String, Integer> newest) {}

    @Override
    public CompletionStage<Void> stopped(SessionScope scope) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<Deleted> delete(List<String> entityIds) {
      deletions.incrementAndGet();
      return CompletableFuture.completedFuture(Deleted.NOTHING);
    }
  }

  private final class Announced implements ShardHost.Others {
    @Override
    public void send(int shard, ToShard message) {}

    @Override
    public void send(int shard, ToShard message, Duration later) {}

    @Override
    public boolean isMe(ActorRef<ToHost> host) {
      return host.equals(me.ref());
    }

    @Override
    public void announce(int shard) {
      announced.ref().tell(shard);
    }
  }

  private ShardHost host(Duration handOver) {
    SharedStore database = database();
    Agreement agreement = new Agreement(Offers.UNREADABLE, all -> {});
    agreement.agreed(Offers.UNREADABLE);
    Shards shards = new Shards(database, handOver);
    ShardHost host =
        new ShardHost(
            database,
            new Membership(
                database,
                Cluster.get(kit.system()),
                agreement,
                new EndedHosts(address -> false, System::nanoTime)),
            shards,
            ForwarderTest.gateway(shards),
            region.ref(),
            new SessionSubscriptions(),
            new NoUpkeep(),
            Telemetry.NONE);
    host.reachOthersBy(new Announced());
    return host;
  }

  private ActorRef<ToShard> open(ShardHost host) {
    acquired.complete(1L);
    ActorRef<ToShard> shard = kit.spawn(ShardActor.create(SHARD, host));
    assertThat(announced.receiveMessage()).isEqualTo(SHARD);
    return shard;
  }

  @AfterEach
  void stop() {
    kit.shutdownTestKit();
  }

  @Test
  void aHostThatFollowsItsOwnSessionsIsNoFollower() {
    ActorRef<ToShard> shard = open(host(LONG));
    List<ToShard.Followed> sessions = List.of(new ToShard.Followed("session", null));

    shard.tell(new ToShard.Follow(sessions, me.ref()));
    shard.tell(new ToShard.Follow(sessions, other.ref()));

    other.expectMessageClass(ToHost.Persisted.class);
    me.expectNoMessage();
  }

  /** A call of a release whose calls have another form. */
  private ToShard.Deliver unreadable() {
    byte[] call = "{\"unknown\": 1}".getBytes(StandardCharsets.UTF_8);
    return new ToShard.Deliver("session", 9, call, false, 30_000, other.ref());
  }

  @Test
  void aCallThatCannotBeReadIsRefusedAndTheShardStaysOpen() {
    ActorRef<ToShard> shard = open(host(LONG));

    shard.tell(unreadable());
    assertThat(
            new String(
                other.expectMessageClass(ToHost.Replied.class).reply(), StandardCharsets.UTF_8))
        .contains("rolling_out");

    shard.tell(new ToShard.Follow(List.of(new ToShard.Followed("session", null)), other.ref()));
    other.expectMessageClass(ToHost.Persisted.class);
  }

  @Test
  void aCallThatIsSentAgainWhileTheShardIsBeingTakenArrivesOnce() {
    ActorRef<ToShard> shard = kit.spawn(ShardActor.create(SHARD, host(LONG)));
    shard.tell(unreadable());
    shard.tell(unreadable());

    acquired.complete(1L);

    other.expectMessageClass(ToHost.Replied.class);
    other.expectNoMessage();
  }

  @Test
  void aDeletionThatIsSentAgainIsCarriedOutOnceAndConfirmedEachTime() {
    TestProbe<ToShard.Deletion> eraser = kit.createTestProbe();
    ToShard.Delete delete = new ToShard.Delete(List.of("session"), eraser.ref());
    ActorRef<ToShard> shard = kit.spawn(ShardActor.create(SHARD, host(LONG)));
    shard.tell(delete);
    shard.tell(delete);

    acquired.complete(1L);
    sessionsStop();
    eraser.expectMessage(new ToShard.Deletion(Deleted.NOTHING, null));

    shard.tell(delete);
    eraser.expectMessage(new ToShard.Deletion(Deleted.NOTHING, null));
    eraser.expectNoMessage();
    assertThat(deletions).hasValue(1);
  }

  @Test
  void aSessionThatThisHostWokeDuringItsErasureStopsBeforeItIsDeleted() {
    TestProbe<ToShard.Deletion> eraser = kit.createTestProbe();
    ActorRef<ToShard> shard = open(host(LONG));
    shard.tell(new ToShard.Delete(List.of("session"), eraser.ref()));
    sessionsStop();
    eraser.expectMessage(new ToShard.Deletion(Deleted.NOTHING, null));
    assertThat(deletions).hasValue(1);
  }

  private void sessionsStop() {
    SessionRegion.Bar bar = region.expectMessageClass(SessionRegion.Bar.class);
    assertThat(deletions).hasValue(0);
    bar.stopped().complete(null);
    assertThat(region.expectMessageClass(SessionRegion.Unbar.class).scope()).isEqualTo(bar.scope());
  }

  @Test
  void itIsReleasedWhenItsSessionsHaveStoppedAndNotBefore() {
    ActorRef<ToShard> shard = open(host(LONG));

    shard.tell(new ToShard.HandOver());
    SessionRegion.CloseShard close = region.expectMessageClass(SessionRegion.CloseShard.class);
    store.expectNoMessage();

    close.closed().complete(null);

    store.expectMessage(RELEASED);
    region.expectTerminated(shard);
  }

  @Test
  void itIsReleasedOnceTheLastChangesOfItsSessionsAreListed() {
    listed = new CompletableFuture<>();
    ActorRef<ToShard> shard = open(host(LONG));

    shard.tell(new ToShard.HandOver());
    region.expectMessageClass(SessionRegion.CloseShard.class).closed().complete(null);
    store.expectNoMessage();

    listed.complete(null);

    store.expectMessage(RELEASED);
  }

  @Test
  void sessionsThatWorkOnAfterTheirTimeAreStopped() {
    ActorRef<ToShard> shard = open(host(Duration.ofMillis(50)));

    shard.tell(new ToShard.HandOver());

    region.expectMessageClass(SessionRegion.CloseShard.class);
    region.expectMessage(new SessionRegion.VacateShard(SHARD));
  }

  @Test
  void itsSessionsStopIfClusterShardingStopsItBeforeTheyHave() {
    ActorRef<ToShard> shard = open(host(LONG));
    shard.tell(new ToShard.HandOver());
    region.expectMessageClass(SessionRegion.CloseShard.class);

    kit.stop(shard);

    region.expectMessageClass(SessionRegion.CloseShard.class);
    region.expectMessage(new SessionRegion.VacateShard(SHARD));
  }

  @Test
  void itsSessionsStopIfItStopsWhileItIsOpen() {
    kit.stop(open(host(LONG)));

    region.expectMessageClass(SessionRegion.CloseShard.class);
    region.expectMessage(new SessionRegion.VacateShard(SHARD));
  }

  @Test
  void itsSessionsStopAtOnceIfAnotherHostHasTakenIt() {
    ActorRef<ToShard> shard = open(host(LONG));

    shard.tell(new ToShard.Lost());

    region.expectMessageClass(SessionRegion.CloseShard.class);
    region.expectMessage(new SessionRegion.VacateShard(SHARD));
  }
}
