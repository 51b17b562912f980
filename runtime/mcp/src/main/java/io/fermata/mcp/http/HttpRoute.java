package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.vertx.core.http.HttpServerRequest;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** An HTTP API besides MCP, at its own path, for authenticated callers. */
public interface HttpRoute {
  String path();

  default boolean serves(@Nullable String path) {
    return path != null && (path.equals(path()) || path.startsWith(path() + "/"));
  }

  /** The parts of its paths that no client chooses, for logs. */
  default Set<String> names() {
    return Set.of();
  }

  void serve(HttpServerRequest request, AuthenticatedCaller caller);
}
