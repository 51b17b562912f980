package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.rpc.Revision;
import org.jspecify.annotations.Nullable;

/** What a transport knows about a message besides its bytes. */
public sealed interface MessageSource {
  /** Who sent it, and what it may do. */
  AuthenticatedCaller caller();

  default String principal() {
    return caller().principal();
  }

  /** What an error says in place of an id that is not known. */
  JsonNode unknownId();

  /**
   * A message that came as the body of a POST.
   *
   * @param version the header {@code MCP-Protocol-Version}
   * @param method the header {@code Mcp-Method}
   * @param name the header {@code Mcp-Name}
   * @param session the header {@code Mcp-Session-Id}
   * @param headers all others
   */
  record Post(
      AuthenticatedCaller caller,
      @Nullable String version,
      @Nullable String method,
      @Nullable String name,
      @Nullable String session,
      Headers headers)
      implements MessageSource {
    /** JSON-RPC wants null; MCP's HTTP transport wants no id at all. */
    @Override
    public JsonNode unknownId() {
      return MissingNode.getInstance();
    }
  }

  /** Headers by their names; one that was given twice has a value that equals neither. */
  @FunctionalInterface
  interface Headers {
    @Nullable String get(String name);
  }

  /** A line of a stream. The stream is one peer, and remembers what it negotiated. */
  final class Connection implements MessageSource {
    private final AuthenticatedCaller caller;
    private final OutboundQueue queue;
    private volatile Revision revision = Revision.LATEST_LEGACY;
    private volatile @Nullable Client client;

    /**
     * @param way the queue of messages that belong to no request
     */
    public Connection(AuthenticatedCaller caller, OutboundQueue way) {
      this.caller = caller;
      this.queue = way;
    }

    @Override
    public AuthenticatedCaller caller() {
      return caller;
    }

    public Revision revision() {
      return revision;
    }

    @Override
    public JsonNode unknownId() {
      return NullNode.getInstance();
    }

    /** The client as it introduced itself in its latest handshake; null before one. */
    public @Nullable Client client() {
      return client;
    }

    public OutboundQueue queue() {
      return queue;
    }

    /** Takes note of a handshake, and returns the client of the one before. */
    public synchronized @Nullable Client negotiated(Revision agreed, Client introduced) {
      Client before = client;
      revision = agreed;
      client = introduced;
      return before;
    }
  }
}
