package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** What a host sees of its cluster. */
final class View implements Telemetry.ClusterGauges {
  private final Cluster cluster;
  private final Membership membership;
  private final Shards shards;
  private final Forwarder forwarder;
  private final SharedStore store;

  View(
      Cluster cluster,
      Membership membership,
      Shards shards,
      Forwarder forwarder,
      SharedStore store) {
    this.cluster = cluster;
    this.membership = membership;
    this.shards = shards;
    this.forwarder = forwarder;
    this.store = store;
  }

  @Override
  public int up() {
    CurrentClusterState state = cluster.state();
    int up = 0;
    for (Member member : state.getMembers()) {
      if (member.status() == MemberStatus.up() && !state.getUnreachable().contains(member)) {
        up++;
      }
    }
    return up;
  }

  @Override
  public int unreachable() {
    return cluster.state().getUnreachable().size();
  }

  @Override
  public int shards() {
    return shards.open();
  }

  @Override
  public Duration heartbeat() {
    return membership.sinceRenewed();
  }

  @Override
  public long resends() {
    return forwarder.resends();
  }

  @Override
  public long refusals() {
    return store.refusals();
  }
}
