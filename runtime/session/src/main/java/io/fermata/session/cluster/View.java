package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.ClusterHealth.Status;
import io.fermata.session.observe.Telemetry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.Address;
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

  ClusterHealth health() {
    return new ClusterHealth(
        membership.cluster(),
        text(cluster.selfMember().address()),
        members(),
        shards(),
        heartbeat(),
        membership.problem());
  }

  private List<ClusterHealth.Member> members() {
    CurrentClusterState state = cluster.state();
    List<ClusterHealth.Member> members = new ArrayList<>();
    for (Member member : state.getMembers()) {
      Status status =
          state.getUnreachable().contains(member) ? Status.UNREACHABLE : status(member.status());
      members.add(new ClusterHealth.Member(text(member.address()), status));
    }
    return members;
  }

  /** Without the name of the actor system, which hosts of other stores must not know. */
  private static String text(Address address) {
    return address.getHost().orElse("") + ":" + address.getPort().orElse(0);
  }

  private static Status status(MemberStatus status) {
    if (status == MemberStatus.up()) {
      return Status.UP;
    } else if (status == MemberStatus.joining() || status == MemberStatus.weaklyUp()) {
      return Status.JOINING;
    } else if (status == MemberStatus.down() || status == MemberStatus.removed()) {
      return Status.DOWN;
    }
    return Status.LEAVING;
  }

  @Override
  public int up() {
    return health().count(Status.UP);
  }

  @Override
  public int unreachable() {
    return health().count(Status.UNREACHABLE);
  }

  @Override
  public int shards() {
    return shards.held();
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
