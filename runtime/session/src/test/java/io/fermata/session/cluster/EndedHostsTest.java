package io.fermata.session.cluster;

import static io.fermata.session.TestHost.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.postgres.Cable;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.cluster.UniqueAddress;
import org.junit.jupiter.api.Test;

class EndedHostsTest {
  private static final Address ADDRESS = new Address("pekko", "fermata", "127.0.0.1", 7400);
  private static final UniqueAddress HOST = new UniqueAddress(ADDRESS, 1L);

  private final AtomicBoolean refuses = new AtomicBoolean(true);
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
  private final EndedHosts ended = new EndedHosts(host -> refuses.get(), nanos::get);

  private static Peer peer(long uid, long clock) {
    return new Peer("a" + uid, ADDRESS.toString(), uid, "it", clock, Offers.UNREADABLE);
  }

  private void after(long millis, Peer... hosts) {
    nanos.addAndGet(Duration.ofMillis(millis).toNanos());
    ended.seen(List.of(hosts));
  }

  @Test
  void aHostHasEndedIfItRefusesConnectionsAndHasNoHeartbeatAnyMore() {
    after(0, peer(1, 1));
    after(1_000, peer(1, 1));
    assertThat(ended.hasEnded(HOST)).as("it may be late").isFalse();
    after(1_000, peer(1, 1));
    assertThat(ended.hasEnded(HOST)).isTrue();
    refuses.set(false);
    assertThat(ended.hasEnded(HOST)).as("a paused host listens").isFalse();
  }

  @Test
  void aHostThatTheStoreRenewsHasNotEndedAlsoIfItRefusesConnectionsFromHere() {
    for (int second = 0; second < 5; second++) {
      after(1_000, peer(1, second));
      assertThat(ended.hasEnded(HOST)).isFalse();
    }
  }

  @Test
  void aHostThatTheStoreDoesNotHaveAnyMoreHasEnded() {
    after(0, peer(1, 1));
    after(1_000);
    assertThat(ended.hasEnded(HOST)).isTrue();
  }

  @Test
  void nothingIsKnownWhileTheStoreIsAway() {
    assertThat(ended.hasEnded(HOST)).as("before the first look").isFalse();
    after(0, peer(1, 1));
    nanos.addAndGet(Duration.ofMinutes(1).toNanos());
    assertThat(ended.hasEnded(HOST)).isFalse();
  }

  @Test
  void aHostHasEndedIfALaterProcessIsAtItsAddressWhichHasNotEnded() {
    refuses.set(false);
    after(0, peer(1, 1));
    after(1_000, peer(1, 1));
    after(500, peer(1, 1), peer(2, 10));
    assertThat(ended.hasEnded(HOST)).isFalse();
    after(500, peer(1, 1), peer(2, 11));
    assertThat(ended.hasEnded(HOST)).isTrue();
    assertThat(ended.hasEnded(new UniqueAddress(ADDRESS, 2L))).isFalse();
    after(2_000, peer(1, 1), peer(2, 11));
    assertThat(ended.hasEnded(new UniqueAddress(ADDRESS, 2L))).as("it listens").isFalse();
  }

  @Test
  void anAddressRefusesConnectionsWhenNobodyListens() throws Exception {
    ActorTestKit kit = ActorTestKit.create();
    try {
      Predicate<Address> refuses = address -> EndedHosts.refuses(address, kit.system());
      ServerSocket listens = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
      int port = listens.getLocalPort();
      try (listens) {
        assertThat(refuses).rejects(at("127.0.0.1", port));
      }
      // A refusal may come late; then a host asks again.
      eventually(() -> refuses.test(at("127.0.0.1", port)));
      try (Cable cable = Cable.to(port)) {
        Address nobodyBehind = at("127.0.0.1", cable.port());
        eventually(() -> refuses.test(nobodyBehind));
      }
      assertThat(refuses).as("nobody says so").rejects(at("no-such-host.invalid", port));
    } finally {
      kit.shutdownTestKit();
    }
  }

  private static Address at(String host, int port) {
    return new Address("pekko", "fermata", host, port);
  }
}
