package io.fermata.mcp;

import org.jspecify.annotations.Nullable;

/** What a transport knows about a message besides its bytes. */
sealed interface Arrival {
  /** Who sent it. */
  String principal();

  /**
   * A message that came as the body of a POST.
   *
   * @param version the header {@code MCP-Protocol-Version}
   * @param method the header {@code Mcp-Method}
   * @param name the header {@code Mcp-Name}
   * @param session the header {@code Mcp-Session-Id}
   */
  record Post(
      String principal,
      @Nullable String version,
      @Nullable String method,
      @Nullable String name,
      @Nullable String session)
      implements Arrival {}

  /** A line of a stream. The stream is one peer, and remembers what it negotiated. */
  final class Line implements Arrival {
    private final String principal;
    private volatile Revision revision = Revision.LATEST_LEGACY;

    Line(String principal) {
      this.principal = principal;
    }

    @Override
    public String principal() {
      return principal;
    }

    Revision revision() {
      return revision;
    }

    void negotiated(Revision agreed) {
      revision = agreed;
    }
  }
}
