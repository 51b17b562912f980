package io.fermata.session.cluster;

import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.call.ClusterHealth;
import io.fermata.session.call.ClusterHealth.Status;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry.Gauge;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.Address;
import org.apache.pekko.cluster.ClusterEvent.CurrentClusterState;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;

/** What a host sees of its cluster. */
final class View {
  private final Cluster cluster;
  private final Membership membership;
  private final Shards shards;
  private final List<Gauge> gauges;

  View(
      Cluster cluster,
      Membership membership,
      Shards shards,
      Forwarder forwarder,
      SharedStore store) {
    this.cluster = cluster;
    this.membership = membership;
    this.shards = shards;
    this.gauges =
        List.of(
            new Gauge(Meter.MEMBERS, List.of("up"), () -> health().count(Status.UP)),
            new Gauge(
                Meter.MEMBERS, List.of("unreachable"), () -> health().count(Status.UNREACHABLE)),
            new Gauge(Meter.SHARDS, List.of(), shards::held),
            new Gauge(Meter.HEARTBEAT, List.of(), () -> membership.sinceRenewed().toMillis()),
            new Gauge(Meter.RESENDS, List.of(), forwarder::resends),
            new Gauge(Meter.FENCED, List.of(), store::refusals));
  }

  List<Gauge> gauges() {
    return gauges;
  }

  ClusterHealth health() {
    return new ClusterHealth(
        membership.cluster(),
        text(cluster.selfMember().address()),
        members(),
        shards.held(),
        membership.sinceRenewed(),
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
}
