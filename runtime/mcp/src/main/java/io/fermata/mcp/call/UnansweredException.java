package io.fermata.mcp.call;

import io.fermata.mcp.feature.McpAsk;
import java.util.Map;

/** Ends a handler whose questions are open: it runs again with the replies. */
final class UnansweredException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final transient Map<String, McpAsk> asks;

  UnansweredException(Map<String, McpAsk> asks) {
    super("The client has to reply first: do not catch this exception", null, false, false);
    this.asks = asks;
  }

  Map<String, McpAsk> asks() {
    return asks;
  }
}
