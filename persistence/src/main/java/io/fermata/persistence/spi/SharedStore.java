package io.fermata.persistence.spi;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What hosts that share a store agree on in it: who they are, and which of them writes the sessions
 * of a {@link Shard}. The store refuses every append of a host that does not hold the shard of its
 * session, so a host that was paused or cut off can never acknowledge what another host does not
 * see. Snapshots, imports, deletions and entries of the directory are refused likewise, with the
 * problem {@link StoreProblem#MOVED}; nothing of the refused request is written. Anything may be
 * read by any host.
 *
 * <p>{@link OpenStore#due}, {@link OpenStore#unfinished}, {@link OpenStore#sweep} and {@link
 * OpenStore#written} of a shared store are confined to the shards that this host holds.
 *
 * <p>Times are those of the database, so clocks of hosts may differ.
 */
public interface SharedStore {

  // --- hosts

  /**
   * Registers a host, or says that it lives, and confirms the shards that it holds: those that
   * another host has taken are not {@link #held} any more.
   *
   * @return the hosts that have done so within ten seconds, this one included, the longest
   *     registered first
   */
  CompletionStage<List<ClusterHost>> heartbeat(ClusterHost host);

  /** Removes a host that stops. */
  CompletionStage<@Nullable Void> leave(String hostId);

  /** What the hosts agreed on; empty before the first have. */
  CompletionStage<Optional<String>> agreement();

  /**
   * Replaces what the hosts agreed on.
   *
   * @return false if it is not what it was before, as another host has replaced it
   */
  CompletionStage<Boolean> agree(@Nullable String before, String after);

  // --- shards

  /**
   * Takes a shard. It waits for appends to its sessions that are being written; when it completes,
   * they are written or have failed, and what every other host sends is refused. Appends that a
   * stopped host left in the middle are ended after some seconds. A host that takes a shard which
   * it holds loses the appends that it has pending.
   *
   * <p>Unless the host that held the shard has released it or was silent for a while, this takes up
   * to two seconds: until that host does not count the shard as {@link #isConfirmed} any more.
   *
   * <p>It fails if this host has registered and then was silent for five seconds, as a host that
   * was stopped may come too late; after its next {@link #heartbeat} it may take shards again. It
   * also fails if this host has {@link #release}d the shard meanwhile, or taken it once more.
   *
   * @param holder the id with which this host registers
   * @return the number up to which the directory lists what was written to the shard's sessions
   */
  CompletionStage<Long> acquire(int shard, String holder);

  /**
   * Releases a shard: appends of this host to its sessions fail from now on. Those that are being
   * written may still succeed, and are waited for by the host that acquires the shard. If this host
   * is about to {@link #acquire} the shard, it will not hold it.
   *
   * @return completes when the next host that acquires the shard knows that it was given up
   */
  CompletionStage<@Nullable Void> release(int shard);

  /**
   * Whether the store has confirmed, within two seconds, that this host holds a shard. As long as
   * it counts, no other host opens the shard.
   */
  boolean isConfirmed(int shard);

  /** Asks the store whether this host holds a shard. */
  CompletionStage<Boolean> confirm(int shard);

  /**
   * The shards that this host holds, in ascending order. One that another host has taken is among
   * them until a heartbeat or a refused request of this host.
   */
  Collection<Integer> held();

  /**
   * How many requests of this host were refused because it did not hold the shard of what they
   * write. Each was to change a session that may run on another host.
   */
  long refusals();

  /**
   * The journals of one held shard whose last record is tagged {@link JournalTags#UNFINISHED}, as
   * {@link OpenStore#unfinished}. There are none of a shard that this host does not hold.
   */
  CompletionStage<List<Unfinished>> unfinished(int shard, String after, int max);

  /**
   * The directory lists what was written to the sessions of these shards up to a number. Shards
   * that this host does not hold any more, or that another host is taking, are left out.
   */
  CompletionStage<@Nullable Void> mark(Collection<Integer> shards, long number);

  // --- leases

  /**
   * Takes or renews a lease.
   *
   * @return whether the owner has it now; false if another has it and it has not expired
   */
  CompletionStage<Boolean> lease(String name, String owner, Duration timeToLive);

  /**
   * Releases a lease that all hosts share, if this one is the last: no other host has registered
   * lately, or holds a shard. Does nothing if another owner has it.
   *
   * @param hostId the id with which this host registered
   */
  CompletionStage<@Nullable Void> endLeaseOfLast(String name, String owner, String hostId);

  /** Releases a lease; does nothing if another owner has it. */
  CompletionStage<@Nullable Void> endLease(String name, String owner);

  /**
   * Takes or renews a lease on behalf of a request. Claims share the connections of appends, so
   * however many there are, heartbeats and leases do not wait for them.
   *
   * @return whether the owner has it now; false if another has it and it has not expired
   */
  CompletionStage<Boolean> claim(String name, String owner, Duration timeToLive);

  /** Gives up a claim; does nothing if another owner has it. */
  CompletionStage<@Nullable Void> endClaim(String name, String owner);
}
