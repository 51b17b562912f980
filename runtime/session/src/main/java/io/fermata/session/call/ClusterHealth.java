package io.fermata.session.call;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a host sees of the cluster of the hosts that share its store.
 *
 * @param id the same on all hosts of the cluster; null until this one has joined
 * @param address where the other hosts reach this one, as host:port
 * @param members all hosts, this one included
 * @param shards how many shards this host holds
 * @param renewed the time since the store renewed this host's heartbeat and the cluster's lease
 * @param problem why this host is no member that others know, and what to do; null if it is one.
 *     Members that cannot be reached are no problem of this host: they are removed, and their
 *     sessions continue on the others
 */
public record ClusterHealth(
    @Nullable String id,
    String address,
    List<Member> members,
    int shards,
    Duration renewed,
    @Nullable String problem) {

  public ClusterHealth {
    members = List.copyOf(members);
  }

  /** A host, by the address where others reach it. */
  public record Member(String address, Status status) {}

  /** The state of a host, as another one sees it. */
  public enum Status {
    /** It has been seen, but runs no sessions yet. */
    JOINING,
    UP,
    /** It hands its shards over. */
    LEAVING,
    /** It is being removed. */
    DOWN,
    /** Some host cannot reach it; if that lasts, it is removed. */
    UNREACHABLE
  }

  /** How many members have a status. */
  public int count(Status status) {
    return (int) members.stream().filter(member -> member.status() == status).count();
  }
}
