package io.fermata.mcp.legacy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.mcp.catalog.Subscriptions;
import io.fermata.mcp.feature.McpLevel;
import io.fermata.mcp.rpc.RpcException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The state of a client of the revisions before 2026-07-28: what it declared in its handshake and
 * since.
 */
public final class ClientState {
  /** That of all clients without a handshake, which can choose nothing. */
  static final ClientState UNKNOWN = new ClientState(MissingNode.getInstance());

  /** The capabilities of its handshake; missing if they are not known. */
  public final JsonNode capabilities;

  /** The resources it subscribed to; changed by {@link #watch} and {@link #unwatch} only. */
  final Set<String> watched = ConcurrentHashMap.newKeySet();

  /** The total length of their URIs. */
  private int watchedText;

  /** The least severe log messages that it wants. */
  volatile McpLevel level = McpLevel.INFO;

  /**
   * Subscribes the client to a resource.
   *
   * @throws RpcException if it watches as many as it may
   */
  synchronized void watch(String uri) {
    if (!watched.contains(uri)) {
      Subscriptions.requireRoom(watched.size() + 1, watchedText + uri.length());
      watched.add(uri);
      watchedText += uri.length();
    }
  }

  synchronized void unwatch(String uri) {
    if (watched.remove(uri)) {
      watchedText -= uri.length();
    }
  }

  /** Whether it would miss something without its state. */
  boolean hasChosen() {
    return !watched.isEmpty() || level != McpLevel.INFO;
  }

  private ClientState(JsonNode capabilities) {
    this.capabilities = capabilities;
  }

  static ClientState declaring(JsonNode capabilities) {
    return new ClientState(capabilities);
  }
}
