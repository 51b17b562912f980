package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.vertx.core.http.HttpServerRequest;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What the revisions before 2026-07-28 add to the HTTP transport: streams that a session opens with
 * GET, resumption of a stream, and DELETE, which ends a session.
 */
public interface LegacyTransport {
  /**
   * Serves a request that is not a POST.
   *
   * @param streams whether the client accepts a stream of events
   */
  void serve(HttpServerRequest request, AuthenticatedCaller caller, boolean streams);

  /** How long a broken connection is no cancellation, for which these revisions have a message. */
  Duration grace();

  /**
   * Opens the log that keeps the events of a response for a client that reconnects. The function
   * takes what to do if the client does not reconnect, and returns null if there is no room. Null
   * if the client cannot resume.
   */
  @Nullable Function<Runnable, @Nullable StreamLog> log(
      HttpServerRequest request, AuthenticatedCaller caller);
}
