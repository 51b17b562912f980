package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.vertx.core.http.HttpServerRequest;
import org.jspecify.annotations.Nullable;

/** What is served beside MCP, at a path of its own, to callers that are authenticated. */
public interface HttpRoute {
  String path();

  default boolean serves(@Nullable String path) {
    return path != null && (path.equals(path()) || path.startsWith(path() + "/"));
  }

  void serve(HttpServerRequest request, AuthenticatedCaller caller);
}
