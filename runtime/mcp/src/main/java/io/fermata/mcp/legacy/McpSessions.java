package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.access.FairShares;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.ToolHost;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Transport sessions of the revisions before 2026-07-28. A session is nothing but its handle, so it
 * survives a restart; the state of its client is kept for a bounded number of sessions and a
 * bounded time.
 */
public final class McpSessions {
  static final Duration IDLE = Duration.ofHours(1);

  private static final int REMEMBERED = 10_000;

  private final ToolHost host;
  private final LongSupplier nanos;

  private record Entry(ClientState peer, long seen) {}

  /** What is known of clients, the one longest unheard of first. */
  private final FairShares<String, Entry> living;

  /** The youngest of those that a client ended. */
  private final FairShares<String, Boolean> ended;

  /**
   * @param each how many sessions of one principal are remembered
   */
  public McpSessions(ToolHost host, LongSupplier nanos, int each) {
    this.host = host;
    this.nanos = nanos;
    this.living = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
    this.ended = new FairShares<>(each, REMEMBERED, (principal, forgotten) -> {});
  }

  public String open(String principal, JsonNode capabilities) {
    String session = host.handles().mint();
    keep(principal, key(principal, session), ClientState.declaring(capabilities));
    return session;
  }

  /**
   * What is known of the client of a session: nothing more than that, after a restart.
   *
   * @throws RpcException if the session is none of this server's, or has ended
   */
  public ClientState require(String session, String principal) {
    return known(principal, minted(session, principal));
  }

  private synchronized ClientState known(String principal, String key) {
    requireNotEnded(key);
    Entry known = living.remove(key);
    ClientState peer = known == null ? ClientState.unknown() : known.peer();
    keep(principal, key, peer);
    return peer;
  }

  /** The key of a session of this server's. Finding out takes long enough to hold no lock. */
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
    living.put(principal, key, new Entry(peer, now));
    living.removeEldestWhile(eldest -> now - eldest.seen() > IDLE.toNanos());
  }

  /** Principals never meet, not even with each other's handles. */
  private static String key(String principal, String session) {
    return session + principal;
  }

  void end(String session, String principal) {
    ended(principal, minted(session, principal));
  }

  private synchronized void ended(String principal, String key) {
    requireNotEnded(key);
    ended.put(principal, key, true);
    living.remove(key);
  }
}
