package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.rpc.Response;
import io.vertx.core.http.HttpServerRequest;
import java.util.Set;
import java.util.concurrent.CompletionStage;
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

  /**
   * Answers a request, in its context; what the stage fails with becomes an {@link HttpError}. That
   * of a stream ends as it begins.
   */
  CompletionStage<Response> answer(
      HttpServerRequest request, AuthenticatedCaller caller, byte[] body);
}
