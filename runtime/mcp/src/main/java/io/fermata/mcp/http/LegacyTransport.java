package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.vertx.core.http.HttpServerRequest;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the revisions before 2026-07-28 add to the HTTP transport: streams that a session opens with
 * GET, resumption of a stream, and DELETE, which ends a session.
 */
public interface LegacyTransport {
  /**
   * Serves a request that is no POST.
   *
   * @param streams whether the client accepts a stream of events
   */
  void serve(HttpServerRequest request, AuthenticatedCaller caller, boolean streams);

  /**
   * How the events of the response are kept for a client that reconnects: a function of what to do
   * if it does not, which returns null if there is no room; null if the client cannot resume.
   */
  @Nullable Function<Runnable, @Nullable StreamLog> log(
      HttpServerRequest request, AuthenticatedCaller caller);
}
