package io.fermata.session.cluster;

import io.fermata.persistence.spi.Deleted;
import java.util.List;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What the host of a shard receives for it. */
@SuppressWarnings("ArrayRecordComponent") // messages are never compared
sealed interface ToShard {

  /** A message that another host may send. */
  sealed interface Sent extends ToShard, ClusterSerializer.Message {}

  /** Be there: a shard is looked after by its host also while nobody calls its sessions. */
  record Touch() implements Sent {}

  /**
   * A call of a session.
   *
   * @param id the number that the sender gave it
   * @param call the call, as {@link RemoteCall} writes it
   * @param again whether it was sent before, so another host may have carried it out
   * @param timeoutMillis how long its caller still waits
   */
  record Deliver(
      String entityId,
      long id,
      byte[] call,
      boolean again,
      long timeoutMillis,
      ActorRef<ToHost> replyTo)
      implements Sent {}

  /** The caller of a call stops waiting. */
  record StopWaiting(String entityId, long id, ActorRef<ToHost> replyTo) implements Sent {}

  /** Delete journals of the shard, whose sessions have stopped. */
  record Delete(List<String> entityIds, ActorRef<ToShard.Deletion> replyTo) implements Sent {}

  /**
   * The reply to {@link Delete}.
   *
   * @param why it failed; null if it did not
   */
  record Deletion(Deleted deleted, @Nullable String why) implements ClusterSerializer.Message {}

  /**
   * A session that a host follows.
   *
   * @param heard the latest notification that the host received; null if there was none
   */
  record Followed(String entityId, ToHost.@Nullable Notice heard) {}

  /** A host has subscribers to sessions of the shard. Repeated while it has. */
  record Follow(List<Followed> sessions, ActorRef<ToHost> by) implements Sent {}

  /** The shard is held by this host now; the directory is complete up to the mark. */
  record Acquired(long mark) implements ToShard {}

  record NotAcquired(Throwable why) implements ToShard {}

  record AcquireAgain() implements ToShard {}

  /** Another host has taken the shard in the store. */
  record Lost() implements ToShard {}

  /** Another host is to hold the shard. */
  record HandOver() implements ToShard {}

  /** Sessions that still work are stopped now. */
  record Vacate() implements ToShard {}

  /** All sessions of the shard have stopped. */
  record Closed() implements ToShard {}

  /** The store knows that this host has given the shard up. */
  record Released() implements ToShard {}
}
