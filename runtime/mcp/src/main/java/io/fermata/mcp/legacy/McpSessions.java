package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.ToolHost;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Transport sessions of the revisions before 2026-07-28. A session is identified by its handle
 * alone, so it survives a restart; the state of its client is kept for a bounded number of sessions
 * and a bounded time.
 */
public final class McpSessions {
  static final Duration IDLE = Duration.ofHours(1);

  private static final int REMEMBERED = 10_000;

  private final ToolHost host;
  private final LongSupplier nanos;

  private record Entry(ClientState peer, long seen) {}

  /** The states of clients, least recently used first. */
  private final FairShares<String, Entry> active;

  /** The sessions that clients ended most recently. */
  private final FairShares<String, Boolean> ended;

  /**
   * @param each how many sessions of one principal are remembered
   */
  public McpSessions(ToolHost host, LongSupplier nanos, int each) {
    this.host = host;
    this.nanos = nanos;
    this.active = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
    this.ended = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
  }

  public String open(String principal, JsonNode capabilities) {
    String session = host.handles().mint();
    keep(principal, key(principal, session), ClientState.declaring(capabilities));
    return session;
  }

  /**
   * The state of a session's client; after a restart, an unknown one.
   *
   * @throws RpcException if the session is unknown to this server or has ended
   */
  public ClientState require(String session, String principal) {
    return known(principal, minted(session, principal));
  }

  private synchronized ClientState known(String principal, String key) {
    requireNotEnded(key);
    Entry known = active.remove(key);
    ClientState peer = known == null ? ClientState.unknown() : known.peer();
    keep(principal, key, peer);
    return peer;
  }

  /**
   * The key of a session that this server minted. The check is slow, so it runs outside the lock.
   */
  private String minted(String session, String principal) {
    if (!host.handles().minted(session)) {
      throw RpcException.sessionGone();
    }
    return key(principal, session);
  }

  private void requireNotEnded(String key) {
    if (ended.has(key)) {
      throw RpcException.sessionGone();
    }
  }

  private synchronized void keep(String principal, String key, ClientState peer) {
    long now = nanos.getAsLong();
    active.put(principal, key, new Entry(peer, now));
    active.removeEldestWhile(eldest -> now - eldest.seen() > IDLE.toNanos());
  }

  /** The principal is part of the key: a handle of another principal finds nothing. */
  private static String key(String principal, String session) {
    return session + principal;
  }

  void end(String session, String principal) {
    ended(principal, minted(session, principal));
  }

  private synchronized void ended(String principal, String key) {
    requireNotEnded(key);
    ended.put(principal, key, true);
    active.remove(key);
  }
}
