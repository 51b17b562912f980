package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.fermata.flow.SecretFields;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.Placement;
import io.fermata.session.actor.SessionRegion;
import io.fermata.session.actor.SessionSubscriptions;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.Request;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.key.Handles;
import io.fermata.session.key.HostError;
import io.fermata.session.observe.Congestion;
import io.fermata.session.observe.HostGauges;
import io.fermata.session.observe.Telemetry;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.testkit.typed.javadsl.TestProbe;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.typed.ShardingEnvelope;
import org.apache.pekko.cluster.typed.Cluster;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The calls that a host has sent to others. */
class ForwarderTest {
  private static final TaskRun RUN = new TaskRun("ann", "trip", "1");
  private static final int SHARD = Shard.of(RUN.entityId());

  private final ActorSystem<SessionRegion.Message> system =
      ActorSystem.create(
          Behaviors.ignore(),
          "forwards",
          ConfigFactory.parseString(
                  "pekko.actor.provider = cluster, pekko.remote.artery.canonical.port = 0")
              .withFallback(ConfigFactory.load("application-test")));

  private final TestProbe<ShardingEnvelope<ToShard>> toShards = TestProbe.create(system);
  private final TestProbe<ToHost> me = TestProbe.create(system);
  private final Shards shards = new Shards(never(), Duration.ZERO);
  private final Gateway gateway = gateway(shards);

  private final SessionSubscriptions subscriptions = new SessionSubscriptions();
  private final AtomicLong nanos = new AtomicLong();
  private final Forwarder forwarder =
      new Forwarder(
          "here",
          Cluster.get(system),
          shards,
          gateway,
          subscriptions,
          toShards.ref(),
          system,
          Telemetry.NONE,
          nanos::get);

  private final List<CompletableFuture<ToolReply>> replies = new ArrayList<>();

  /** Receives the calls of a host that places sessions in a way. */
  static Gateway gateway(Placement placement) {
    return new Gateway(
        Settings.DEFAULT,
        System::nanoTime,
        new Handles(new byte[32]),
        Runnable::run,
        new HostGauges(List.of(), new Congestion(Duration.ofSeconds(5), System::nanoTime)),
        flow -> SecretFields.NONE,
        placement,
        Gateway.Carrier.DIRECT);
  }

  static SharedStore never() {
    return (SharedStore)
        Proxy.newProxyInstance(
            SharedStore.class.getClassLoader(),
            new Class<?>[] {SharedStore.class},
            (proxy, method, arguments) -> {
              throw new UnsupportedOperationException(method.getName());
            });
  }

  @BeforeEach
  void start() {
    forwarder.start(me.ref());
    gateway.start(system);
  }

  @AfterEach
  void stop() {
    ActorTestKit.shutdown(system);
  }

  /** A call that a host of the shard has, or lost, and the number that it has here. */
  private ToShard.Deliver called() {
    replies.add(
        gateway
            .command(RUN, Request.OfRun.of(CallAction.CONTINUE, Json.object(), null))
            .toCompletableFuture());
    return (ToShard.Deliver) sent();
  }

  private ToShard sent() {
    ShardingEnvelope<ToShard> envelope = toShards.receiveMessage();
    assertThat(envelope.entityId()).isEqualTo(Integer.toString(SHARD));
    return envelope.message();
  }

  @Test
  void aCallThatNobodyConfirmedIsSentAgainAsSoonAsItsShardIsOpenAtSomeHost() {
    ToShard.Deliver first = called();

    forwarder.opened(SHARD);

    assertThat(sent()).isEqualTo(new ToShard.Touch());
    ToShard.Deliver second = (ToShard.Deliver) sent();
    assertThat(second.id()).isEqualTo(first.id());
    assertThat(List.of(first.again(), second.again()))
        .as("another host may have carried it out")
        .containsExactly(false, true);
    assertThat(forwarder.resends()).isEqualTo(1);
  }

  @Test
  void callsThatNobodyConfirmedAreSentAgainInTheOrderInWhichTheyWereSent() {
    for (int i = 0; i < 16; i++) {
      List<Long> ids = Stream.generate(() -> called().id()).limit(3).toList();

      forwarder.opened(SHARD);

      assertThat(sent()).isEqualTo(new ToShard.Touch());
      assertThat(Stream.generate(() -> ((ToShard.Deliver) sent()).id()).limit(3).toList())
          .isEqualTo(ids);
      ids.forEach(id -> forwarder.replied(id, moved()));
    }
  }

  @Test
  void aDeletionThatNobodyConfirmedIsSentAgainWhenItsShardOpensAndAfterAWhile() {
    CompletableFuture<Deleted> deleted =
        forwarder.delete(List.of(RUN.entityId())).toCompletableFuture();
    ToShard.Delete first = (ToShard.Delete) sent();

    forwarder.opened(SHARD);
    assertThat(sent()).isEqualTo(new ToShard.Touch());
    assertThat(sent()).isEqualTo(first);

    pass(Duration.ofSeconds(4));
    toShards.expectNoMessage();
    pass(Duration.ofSeconds(2));
    assertThat(sent()).isEqualTo(first);

    first.replyTo().tell(new ToShard.Deletion(Deleted.of(2, 0, 1), null));
    assertThat(deleted.join()).isEqualTo(Deleted.of(2, 0, 1));
    pass(Duration.ofMinutes(1));
    toShards.expectNoMessage();
  }

  @Test
  void aCallThatItsHostHasConfirmedIsNotSentAgainWhenAShardOpens() {
    ToShard.Deliver first = called();
    forwarder.accepted(first.id(), "there");

    forwarder.opened(SHARD);

    assertThat(sent()).isEqualTo(new ToShard.Touch());
    toShards.expectNoMessage();
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
    forwarder.lookAfterCalls();
  }

  @Test
  void aCallThatNobodyConfirmedIsSentAgainAfterAWhile() {
    ToShard.Deliver first = called();
    pass(Duration.ofMillis(400));
    toShards.expectNoMessage();

    pass(Duration.ofMillis(200));

    assertThat(((ToShard.Deliver) sent()).id()).isEqualTo(first.id());
    assertThat(forwarder.resends()).isEqualTo(1);
  }

  @Test
  void itIsSentLessOftenTheLongerNobodyConfirmsItAndAtOnceWhenItsShardOpens() {
    called();
    for (long wait : List.of(500L, 1_000L, 2_000L, 2_000L)) {
      pass(Duration.ofMillis(wait - 100));
      toShards.expectNoMessage();
      pass(Duration.ofMillis(200));
      sent();
    }

    forwarder.opened(SHARD);

    assertThat(sent()).isEqualTo(new ToShard.Touch());
    assertThat(sent()).isInstanceOf(ToShard.Deliver.class);
  }

  @Test
  void aCallThatWasConfirmedIsSentAgainAfterALongerWhileAsItsReplyMayBeLost() {
    ToShard.Deliver first = called();
    forwarder.accepted(first.id(), "there");
    pass(Duration.ofSeconds(4));
    toShards.expectNoMessage();

    pass(Duration.ofSeconds(2));

    assertThat(((ToShard.Deliver) sent()).id()).isEqualTo(first.id());
    forwarder.replied(first.id(), moved());
    pass(Duration.ofSeconds(6));
    toShards.expectNoMessage();
  }

  private static SessionReply moved() {
    return SessionReply.failure(RUN.entityId(), HostError.MOVED.failure());
  }

  @Test
  void aSessionThatStopsHereDoesNotEndACallThatWasForwardedToIt() {
    ToShard.Deliver first = called();
    // The shard was opened here meanwhile, and the reply of the session is on its way.
    gateway.lost(RUN.entityId(), HostError.STORE_UNAVAILABLE.failure());
    assertThat(replies.get(0)).isNotDone();

    forwarder.replied(first.id(), moved());
    assertThat(replies.get(0).join().structured().path("code").asText()).isEqualTo("moved");
  }

  @Test
  void theSessionsOfAShardThatAreFollowedAreNamedInOneMessageWithWhatWasHeardOfThem() {
    List<String> sessions =
        IntStream.range(0, 20_000)
            .mapToObj(i -> "session " + i)
            .filter(session -> Shard.of(session) == SHARD)
            .limit(3)
            .toList();
    sessions.forEach(session -> subscriptions.add(session, new Subscriber()));
    sessions.forEach(session -> assertThat(followed()).containsOnlyKeys(session));
    ToHost.Notice notice = new ToHost.Notice(7, 2);
    forwarder.heard(sessions.get(1), notice);

    forwarder.repeat();

    Map<String, ToHost.Notice> followed = followed();
    assertThat(followed).containsOnlyKeys(sessions).containsEntry(sessions.get(1), notice);
    assertThat(followed.get(sessions.get(0))).isNull();
    toShards.expectNoMessage();
  }

  @Test
  void sessionsWhoseShardHasOpenedSomewhereAreFollowedThereSoon() {
    forwarder.opened(SHARD);
    assertThat(sent()).isEqualTo(new ToShard.Touch());
    subscriptions.add(RUN.entityId(), new Subscriber());
    subscriptions.add("other shard " + SHARD, new Subscriber());
    assertThat(List.of(shardOf(toShards.receiveMessage()), shardOf(toShards.receiveMessage())))
        .contains(SHARD);

    forwarder.followMoved();
    assertThat(followed()).containsOnlyKeys(RUN.entityId());

    forwarder.followMoved();
    toShards.expectNoMessage();
  }

  private static int shardOf(ShardingEnvelope<ToShard> envelope) {
    return Integer.parseInt(envelope.entityId());
  }

  @Test
  void aHostKnowsItself() {
    assertThat(forwarder.isMe(me.ref())).isTrue();
    assertThat(forwarder.isMe(TestProbe.<ToHost>create(system).ref())).isFalse();
  }

  private Map<String, ToHost.Notice> followed() {
    Map<String, ToHost.Notice> followed = new HashMap<>();
    ((ToShard.Follow) sent())
        .sessions()
        .forEach(session -> followed.put(session.entityId(), session.heard()));
    return followed;
  }

  private static final class Subscriber implements SessionSubscriptions.Subscriber {
    @Override
    public void persisted(Entry<?> entry, boolean last) {}

    @Override
    public void ended(@Nullable Throwable why) {}
  }

  @Test
  void theCallsOfOtherShardsAreNotSentAgain() {
    called();

    forwarder.opened((SHARD + 1) % Shard.COUNT);

    assertThat(toShards.receiveMessage().message()).isEqualTo(new ToShard.Touch());
    toShards.expectNoMessage();
  }

  @Test
  void aShardThatOpensHereIsAnnouncedHereAsWell() {
    forwarder.announce(SHARD);

    assertThat(((ToHost.Opened) me.receiveMessage()).shard()).isEqualTo(SHARD);
  }
}
