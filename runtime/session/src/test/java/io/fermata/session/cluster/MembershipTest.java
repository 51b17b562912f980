package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.cluster.Offers.Keys;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class MembershipTest {
  private static final String HOST = "pekko://fermata@10.0.0.5:7400";
  private static final Offers OFFERS = Offers.of(Set.of(), Set.of(), Keys.NONE);

  /** A store forgets hosts that do not renew their places, here after so many looks. */
  private static final int FORGOTTEN = 30;

  private static final Config CONFIG =
      ConfigFactory.parseString(
              "pekko.actor.provider = cluster, pekko.remote.artery.canonical.port = 0")
          .withFallback(ConfigFactory.load());

  private final List<ClusterHost> hosts = new CopyOnWriteArrayList<>();
  private final AtomicInteger beats = new AtomicInteger();
  private final AtomicBoolean refuses = new AtomicBoolean();
  private final AtomicBoolean silent = new AtomicBoolean();
  private final ActorTestKit kit = ActorTestKit.create("hosts", CONFIG);
  private final ActorTestKit other = ActorTestKit.create("hosts", CONFIG);
  private final Membership membership =
      new Membership(
          store(),
          Cluster.get(kit.system()),
          new Agreement(OFFERS, all -> {}),
          new EndedHosts(address -> refuses.get(), System::nanoTime));

  @AfterEach
  void stop() {
    membership.stop();
    kit.shutdownTestKit();
    other.shutdownTestKit();
  }

  private SharedStore store() {
    return (SharedStore)
        Proxy.newProxyInstance(
            SharedStore.class.getClassLoader(),
            new Class<?>[] {SharedStore.class},
            (proxy, method, arguments) ->
                CompletableFuture.completedFuture(
                    switch (method.getName()) {
                      case "heartbeat" -> {
                        beats.incrementAndGet();
                        if (silent.get() && beats.get() > FORGOTTEN) {
                          hosts.clear();
                        }
                        yield hosts.stream().map(this::renewed).toList();
                      }
                      case "agreement" -> Optional.of(OFFERS.text());
                      case "lease", "agree" -> true;
                      default -> throw new UnsupportedOperationException(method.getName());
                    }));
  }

  /** A host that lives writes its clock with each heartbeat. */
  private ClusterHost renewed(ClusterHost host) {
    Peer peer = Peer.of(host);
    long clock = peer.clock() + (silent.get() ? 0 : beats.get());
    return new Peer(peer.id(), peer.address(), peer.uid(), peer.cluster(), clock, peer.offers())
        .registered();
  }

  @Test
  void aHostOnACopyOfAStoreDoesNotJoinTheHostsOfTheStoreThatWasCopied() {
    Member first = formed();
    silent.set(true);
    hosts.add(at(first, first.uniqueAddress().longUid(), "of the store that was copied"));

    membership.join();

    assertThat(membership.cluster()).isEqualTo(membership.id());
    assertThat(Cluster.get(other.system()).state().getMembers()).hasSize(1);
  }

  @Test
  void aHostThatComesToTheAddressOfOneThatHasLeftDoesNotLeave() {
    membership.leaves(HOST);
    assertThat(membership.isLeaving(HOST)).isTrue();

    membership.gone(HOST);

    assertThat(membership.isLeaving(HOST)).isFalse();
  }

  /** The first host of a cluster. */
  private Member formed() {
    Cluster formed = Cluster.get(other.system());
    Member first = formed.selfMember();
    formed.manager().tell(Join.create(first.address()));
    other
        .createTestProbe()
        .awaitAssert(
            Duration.ofSeconds(60),
            () -> assertThat(formed.selfMember().status()).isEqualTo(MemberStatus.up()));
    return first;
  }

  @Test
  void aHostIsOfTheClusterThatItMetAtTheAddressOfOneThatWasKilled() {
    Member first = formed();
    long uid = first.uniqueAddress().longUid();
    hosts.add(at(first, uid + 1, "of all that were killed"));
    hosts.add(at(first, uid, "of those that started again"));

    membership.join();

    assertThat(membership.cluster()).isEqualTo("of those that started again");
  }

  @Test
  void aHostWhoseClockIsRightJoinsAlthoughThatOfOneOtherHostIsNot() {
    Member first = formed();
    hosts.add(at(HOST, 7, "one", Duration.ofHours(1)));
    hosts.add(at(first, first.uniqueAddress().longUid(), "one"));

    membership.join();

    assertThat(membership.cluster()).isEqualTo("one");
  }

  @Test
  void aHostWhoseClockDiffersFromThoseOfMostHostsIsRefused() {
    Member first = formed();
    hosts.add(at(first, first.uniqueAddress().longUid(), "one", Duration.ofHours(1)));

    assertThatThrownBy(membership::join)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("seconds apart; set them by NTP");
  }

  @Test
  void hostsThatWereKilledAreNotWaitedFor() {
    refuses.set(true);
    silent.set(true);
    hosts.add(at(HOST, 7, "of all that were killed", Duration.ZERO));

    membership.join();

    assertThat(membership.cluster()).isEqualTo(membership.id());
  }

  @Test
  @Tag("long")
  @Tag("slow")
  void aClockThatIsSetWrongWhileItsHostRunsIsLoggedOnceUntilItIsRightAgain() {
    Member first = formed();
    long uid = first.uniqueAddress().longUid();
    hosts.add(at(first, uid, "one"));
    membership.join();
    Logger logger = (Logger) LoggerFactory.getLogger(Membership.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.setLevel(Level.WARN);
    logger.addAppender(logged);
    try {
      for (int times = 1; times <= 2; times++) {
        hosts.set(0, at(first, uid, "one", Duration.ofHours(1)));
        awaitBeats();
        assertThat(logged.list)
            .filteredOn(event -> event.getFormattedMessage().contains("seconds apart"))
            .hasSize(times);
        hosts.set(0, at(first, uid, "one"));
        awaitBeats();
      }
    } finally {
      logger.detachAppender(logged);
      logger.setLevel(null);
    }
  }

  /** The first of three may have begun before. */
  private void awaitBeats() {
    int before = beats.get();
    kit.createTestProbe()
        .awaitAssert(
            Duration.ofSeconds(20),
            () -> {
              assertThat(beats).hasValueGreaterThan(before + 2);
              return null;
            });
  }

  private static ClusterHost at(Member member, long uid, String cluster) {
    return at(member, uid, cluster, Duration.ZERO);
  }

  private static ClusterHost at(Member member, long uid, String cluster, Duration fast) {
    return at(member.address().toString(), uid, cluster, fast);
  }

  private static ClusterHost at(String address, long uid, String cluster, Duration fast) {
    long clock = System.currentTimeMillis() + fast.toMillis();
    return new Peer(cluster, address, uid, cluster, clock, OFFERS).registered();
  }
}
