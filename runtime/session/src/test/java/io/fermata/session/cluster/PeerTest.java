package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PeerTest {

  private static List<Peer> hosts(String... ids) {
    return hostsOf("c", ids);
  }

  private static List<Peer> hostsOf(@Nullable String cluster, String... ids) {
    return Stream.of(ids)
        .map(id -> new Peer(id, "at " + id, 0, cluster, 0, Offers.UNREADABLE))
        .toList();
  }

  private static List<Peer> with(List<Peer> some, List<Peer> others) {
    return Stream.concat(some.stream(), others.stream()).toList();
  }

  @Test
  void ofTwoClustersOnAStoreTheOneWithMoreHostsStaysAlsoWithoutTheLease() {
    List<Peer> hosts = with(hosts("a", "b"), hostsOf("new", "n"));
    assertThat(Peer.isOrphan("c", hosts, false)).isFalse();
    assertThat(Peer.isOrphan("new", hosts, true)).isTrue();
  }

  @Test
  void ofTwoClustersWithAsManyHostsTheOneWithTheLeaseStays() {
    List<Peer> hosts = with(hosts("a"), hostsOf("new", "n"));
    assertThat(Peer.isOrphan("c", hosts, false)).isTrue();
    assertThat(Peer.isOrphan("new", hosts, true)).isFalse();
  }

  @Test
  void aHostThatHasNotJoinedAClusterYetIsNone() {
    assertThat(Peer.isOrphan("c", with(hosts("a"), hostsOf(null, "n", "m")), false)).isFalse();
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
