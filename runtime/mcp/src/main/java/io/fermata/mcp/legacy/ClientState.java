package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.RpcException;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The state of a client of the revisions before 2026-07-28: what it declared in its handshake and
 * since.
 */
public final class ClientState {
  /** The capabilities of its handshake; missing if they are not known. */
  public final JsonNode capabilities;

  /** The resources it subscribed to. */
  final Set<String> watched = ConcurrentHashMap.newKeySet();

  /** The least severe log messages that it wants. */
  volatile McpLevel level = McpLevel.INFO;

  /**
   * Subscribes the client to a resource.
   *
   * @throws RpcException if it watches as many as it may
   */
  void watch(String uri) {
    Set<String> more = new TreeSet<>(watched);
    more.add(uri);
    Subscriptions.requireRoom(more);
    watched.add(uri);
  }

  private ClientState(JsonNode capabilities) {
    this.capabilities = capabilities;
  }

  static ClientState declaring(JsonNode capabilities) {
    return new ClientState(capabilities);
  }

  /** One without a handshake. */
  static ClientState unknown() {
    return new ClientState(MissingNode.getInstance());
  }
}
