package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PeerTest {

  private static List<Peer> hosts(String... ids) {
    return Stream.of(ids).map(id -> new Peer(id, "at " + id, "c", 0, Offers.UNREADABLE)).toList();
  }

  @Test
  void ofHostsThatHaveRemovedEachOtherTheLargerPartStays() {
    List<Peer> hosts = hosts("a", "b", "c");
    assertThat(Peer.areMost(hosts, Set.of("at b", "at c"))).isTrue();
    assertThat(Peer.areMost(hosts, Set.of("at a"))).isFalse();
  }

  @Test
  void ofTwoEqualPartsOneStays() {
    List<Peer> hosts = hosts("b", "d", "a", "c");
    assertThat(Peer.areMost(hosts, Set.of("at a", "at d"))).isTrue();
    assertThat(Peer.areMost(hosts, Set.of("at b", "at c"))).isFalse();
  }

  @Test
  void aMemberThatTheStoreDoesNotKnowYetDoesNotCount() {
    assertThat(Peer.areMost(hosts("a"), Set.of("at a", "at b"))).isTrue();
    assertThat(Peer.areMost(hosts("a", "b"), Set.of())).isFalse();
  }
}
