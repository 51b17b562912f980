package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.rpc.Revision;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** What a transport knows about a message besides its bytes. */
public sealed interface MessageSource {
  /** The caller that sent the message, with its scopes. */
  AuthenticatedCaller caller();

  default String principal() {
    return caller().principal();
  }

  /** The id of an error response to a message whose id is unknown. */
  JsonNode unknownId();

  /**
   * A message in the body of a POST.
   *
   * @param version the header {@code MCP-Protocol-Version}
   * @param method the header {@code Mcp-Method}
   * @param name the header {@code Mcp-Name}
   * @param session the header {@code Mcp-Session-Id}
   * @param headers all others
   * @param gone completes when a client disconnects that has no session, and so cannot cancel
   *     otherwise; null if it has one
   */
  record Post(
      AuthenticatedCaller caller,
      @Nullable String version,
      @Nullable String method,
      @Nullable String name,
      @Nullable String session,
      Headers headers,
      @Nullable CompletionStage<?> gone)
      implements MessageSource {
    /** JSON-RPC requires null; MCP's HTTP transport requires that there is no id. */
    @Override
    public JsonNode unknownId() {
      return MissingNode.getInstance();
    }
  }

  /** Headers by name; a header that was sent twice has a value that equals neither. */
  @FunctionalInterface
  interface Headers {
    @Nullable String get(String name);
  }

  /** A line of a stream. The stream belongs to one client and remembers what was negotiated. */
  final class Connection implements MessageSource {
    private final AuthenticatedCaller caller;
    private final OutboundQueue queue;
    private volatile Revision revision = Revision.LATEST_LEGACY;
    private volatile @Nullable Client client;

    /**
     * @param queue the queue of messages that belong to no request
     */
    public Connection(AuthenticatedCaller caller, OutboundQueue queue) {
      this.caller = caller;
      this.queue = queue;
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

    /** Stores the outcome of a handshake and returns the client of the previous one. */
    public synchronized @Nullable Client negotiated(Revision agreed, Client introduced) {
      Client before = client;
      revision = agreed;
      client = introduced;
      return before;
    }
  }
}
