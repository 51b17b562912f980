package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.session.admin.SessionScope;
import java.util.Set;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What a host receives from others, about calls and subscriptions that it has there. */
@SuppressWarnings("ArrayRecordComponent") // messages are never compared
sealed interface ToHost {

  /** A message that another host may send. */
  sealed interface Sent extends ToHost, ClusterSerializer.Message {}

  /** A call has reached the host of its session, and has no reply yet. */
  record Accepted(long id, String host) implements Sent {}

  /**
   * The reply to a call.
   *
   * @param reply as {@link RemoteCall} writes it
   */
  record Replied(long id, byte[] reply) implements Sent {}

  /** Progress of a call. */
  record Progressed(long id, String node, String name, JsonNode payload) implements Sent {}

  /**
   * Numbers what a host is notified of, so that what is lost on the way is sent again.
   *
   * @param follower identifies what is numbered; another one begins at 1
   */
  record Notice(long follower, long number) {}

  /**
   * A session that this host follows has persisted an entry, or may have.
   *
   * @param manifest the format of the entry
   * @param entry null if it is to be read from the store
   */
  record Persisted(
      String entityId,
      Notice notice,
      @Nullable String manifest,
      byte @Nullable [] entry,
      boolean last)
      implements Sent {}

  /** A session that this host follows was erased. */
  record Ended(String entityId, Notice notice) implements Sent {}

  /** A piece of text that a session streams. */
  record Streamed(String entityId, String messageId, String kind, String text) implements Sent {}

  /** Stop some sessions at once and block messages to them. Repeated until they may be reached. */
  record Bar(long id, SessionScope scope, ActorRef<ToHost> replyTo) implements Sent {}

  /**
   * Sessions may be reached again. Repeated until it is confirmed.
   *
   * @param bar which {@link Bar} ends
   * @param scope its sessions, which a host that has joined meanwhile may not know
   */
  record Unbar(long id, long bar, SessionScope scope, boolean resume, ActorRef<ToHost> replyTo)
      implements Sent {}

  /** What a server of another host publishes to those of all hosts. */
  record Published(JsonNode message) implements Sent {}

  /** A host has done what another asked it for. */
  record Confirmed(long id, String host) implements Sent {}

  /** A host holds a shard from now on. */
  record Opened(int shard, String host) implements Sent {}

  /** A host leaves, and its shards are to move. Repeated until it has left. */
  record Leaving(String host) implements Sent {}

  /** A host that cannot reach the store asks another whether it does. */
  record AskStore(ActorRef<ToHost> replyTo) implements Sent {}

  /**
   * The reply to {@link AskStore}.
   *
   * @param forMillis for how long, without a gap, the store has renewed the sender; 0 if it does
   *     not now
   */
  record StoreReached(long forMillis) implements Sent {}

  /** The actors of all hosts. */
  record Peers(Set<ActorRef<ToHost>> all) implements ToHost {}

  /** Repeat what other hosts may have missed. */
  record Tick() implements ToHost {}

  /** A host has left the cluster, or was removed from it. */
  record Gone(Address host) implements ToHost {}

  /** Send calls again that may be lost. */
  record Resend() implements ToHost {}
}
