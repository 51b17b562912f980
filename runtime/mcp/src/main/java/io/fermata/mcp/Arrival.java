package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.NullNode;
import org.jspecify.annotations.Nullable;

/** What a transport knows about a message besides its bytes. */
sealed interface Arrival {
  /** Who sent it, and what it may do. */
  Caller caller();

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
      Caller caller,
      @Nullable String version,
      @Nullable String method,
      @Nullable String name,
      @Nullable String session,
      Headers headers)
      implements Arrival {
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
  final class Line implements Arrival {
    private final Caller caller;
    private final Progress way;
    private volatile Revision revision = Revision.LATEST_LEGACY;
    private volatile @Nullable Client client;

    /**
     * @param way the queue of messages that belong to no request
     */
    Line(Caller caller, Progress way) {
      this.caller = caller;
      this.way = way;
    }

    @Override
    public Caller caller() {
      return caller;
    }

    Revision revision() {
      return revision;
    }

    @Override
    public JsonNode unknownId() {
      return NullNode.getInstance();
    }

    /** The client as it introduced itself in its latest handshake; null before one. */
    @Nullable Client client() {
      return client;
    }

    Progress way() {
      return way;
    }

    /** Takes note of a handshake, and returns the client of the one before. */
    synchronized @Nullable Client negotiated(Revision agreed, Client introduced) {
      Client before = client;
      revision = agreed;
      client = introduced;
      return before;
    }
  }
}
