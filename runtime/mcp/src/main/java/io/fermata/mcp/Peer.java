package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The state of a client of the revisions before 2026-07-28: what it declared in its handshake and
 * since.
 */
final class Peer {
  /** What it declared in its handshake; missing if that is not known any more. */
  final JsonNode capabilities;

  /** The resources it wants to hear of. */
  final Set<String> watched = ConcurrentHashMap.newKeySet();

  /** Which log messages it wants; until it says so, those that are more than details. */
  volatile McpLevel level = McpLevel.INFO;

  private Peer(JsonNode capabilities) {
    this.capabilities = capabilities;
  }

  static Peer declaring(JsonNode capabilities) {
    return new Peer(capabilities);
  }

  static Peer unknown() {
    return new Peer(MissingNode.getInstance());
  }
}
