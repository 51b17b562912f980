package io.fermata.mcp;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a transport knows about a message besides its bytes. */
sealed interface Arrival {
  /** Who sent it, and what it may do. */
  Caller caller();

  default String principal() {
    return caller().principal();
  }

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
      implements Arrival {}

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
    private volatile Peer peer = Peer.unknown();
    private CompletableFuture<Void> listening = new CompletableFuture<>();

    /**
     * @param way takes what is told about no request in particular
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

    Peer peer() {
      return peer;
    }

    Progress way() {
      return way;
    }

    /** Begins anew, and yields what ends when it does so again. */
    synchronized CompletableFuture<Void> negotiated(Revision agreed, Peer introduced) {
      revision = agreed;
      peer = introduced;
      listening.complete(null);
      listening = new CompletableFuture<>();
      return listening;
    }
  }
}
