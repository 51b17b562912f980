package io.fermata.mcp.legacy;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.dispatch.RevisionCheck;
import io.fermata.mcp.http.HttpLimits;
import io.fermata.mcp.http.LegacyTransport;
import io.fermata.mcp.http.RequestExchange;
import io.fermata.mcp.http.SseResponse;
import io.fermata.mcp.http.StreamLog;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Sessions over HTTP, their streams, and resumption of streams. */
public final class LegacyHttp implements LegacyTransport {
  private final LegacyProtocol protocol;
  private final Duration heartbeat;
  private final EventLogs logs = new EventLogs();

  public LegacyHttp(LegacyProtocol protocol, HttpLimits limits) {
    this.protocol = protocol;
    this.heartbeat = limits.heartbeat();
  }

  @Override
  public Duration grace() {
    return EventLogs.GRACE;
  }

  @Override
  public @Nullable Function<Runnable, @Nullable StreamLog> log(
      HttpServerRequest request, AuthenticatedCaller caller) {
    String session = session(request);
    return session != null
            && Revision.V2025_11_25.text.equals(request.getHeader(RequestExchange.VERSION))
        ? lost -> logs.open(session, caller.principal(), lost)
        : null;
  }

  @Override
  public void serve(HttpServerRequest request, AuthenticatedCaller caller, boolean streams) {
    String session = session(request);
    try {
      if (session == null) {
        throw notPosted(request);
      }
      RevisionCheck.ofHeader(RequestExchange.version(request));
      if (request.method().equals(HttpMethod.DELETE)) {
        protocol.end(session, caller.principal());
        request.response().setStatusCode(204).end();
      } else if (request.method().equals(HttpMethod.GET)) {
        get(request, caller, session, streams);
      } else {
        throw notPosted(request);
      }
    } catch (RpcException refusal) {
      RequestExchange.refuse(request, refusal, RequestExchange::errorResponse);
    }
  }

  private static @Nullable String session(HttpServerRequest request) {
    return request.getHeader(RequestExchange.SESSION);
  }

  private static RpcException notPosted(HttpServerRequest request) {
    String method = request.method().name();
    return RequestExchange.notPosted(
        request,
        switch (method) {
          case "DELETE" -> "Mcp-Session-Id is missing: it names the session to end.";
          case "GET" ->
              "Send messages with POST. To open an event stream with GET, name the session in Mcp-Session-Id.";
          default -> "Send messages with POST.";
        });
  }

  private void get(
      HttpServerRequest request, AuthenticatedCaller caller, String session, boolean streams) {
    if (!streams) {
      throw RpcException.http(406, "Accept must list text/event-stream.");
    }
    String lastEvent = request.getHeader("last-event-id");
    if (lastEvent == null) {
      listen(request, caller, session);
    } else {
      protocol.sessions().requireNotDeleted(session, caller.principal());
      ResumedResponse.begin(
          request.response(), heartbeat, logs.find(session, caller.principal(), lastEvent));
    }
  }

  /** The stream of a session, which notifies of changes until the client closes it. */
  private void listen(HttpServerRequest request, AuthenticatedCaller caller, String session) {
    SseResponse stream = new SseResponse(request.response(), heartbeat, null, Duration.ZERO);
    Context context = Objects.requireNonNull(Vertx.currentContext());
    CompletableFuture<Void> ended = new CompletableFuture<>();
    ClientState state = protocol.listening(session, caller, ended);
    try {
      protocol.listen(state, caller, stream.progress(), ended);
    } catch (RpcException refusal) {
      ended.complete(null);
      throw refusal;
    }
    CompletionStage<Void> end = ended;
    end.thenRun(() -> context.runOnContext(home -> stream.end()));
  }
}
