package io.fermata.mcp;

import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Sessions over HTTP, their streams, and resumption of streams. */
final class LegacyHttp implements LegacyTransport {
  private final LegacyProtocol protocol;
  private final Replays replays = new Replays();

  LegacyHttp(LegacyProtocol protocol) {
    this.protocol = protocol;
  }

  @Override
  public @Nullable Function<Runnable, @Nullable StreamLog> log(
      HttpServerRequest request, Caller caller) {
    String session = session(request);
    return session != null && Revision.V2025_11_25.text.equals(request.getHeader(Exchange.VERSION))
        ? lost -> replays.open(session, caller.principal(), lost)
        : null;
  }

  @Override
  public void serve(HttpServerRequest request, Caller caller, boolean streams) {
    String session = session(request);
    try {
      if (session == null) {
        throw notPosted(request);
      } else if (request.method().equals(HttpMethod.DELETE)) {
        protocol.sessions().end(session, caller.principal());
        request.response().setStatusCode(204).end();
      } else if (request.method().equals(HttpMethod.GET)) {
        get(request, caller, session, streams);
      } else {
        throw notPosted(request);
      }
    } catch (Refusal refusal) {
      Exchange.refuse(request, refusal, Exchange::refused);
    }
  }

  private static @Nullable String session(HttpServerRequest request) {
    return request.getHeader(Exchange.SESSION);
  }

  private static Refusal notPosted(HttpServerRequest request) {
    String method = request.method().name();
    return Exchange.notPosted(
        request,
        switch (method) {
          case "DELETE" -> "Mcp-Session-Id is missing: it names the session to end.";
          case "GET" ->
              "Send messages with POST. To listen with GET, name the session in Mcp-Session-Id.";
          default -> "Send messages with POST.";
        });
  }

  private void get(HttpServerRequest request, Caller caller, String session, boolean streams) {
    if (!streams) {
      throw Refusal.transport(406, "Accept must list text/event-stream.");
    }
    String lastEvent = request.getHeader("last-event-id");
    if (lastEvent == null) {
      listen(request, caller, session);
    } else {
      protocol.sessions().require(session, caller.principal());
      Resumption.begin(request.response(), replays.find(session, caller.principal(), lastEvent));
    }
  }

  /** The stream of a session, which tells of changes until the client closes it. */
  private void listen(HttpServerRequest request, Caller caller, String session) {
    EventStream stream = new EventStream(request.response(), null);
    Context context = Objects.requireNonNull(Vertx.currentContext());
    CompletableFuture<Void> ended = new CompletableFuture<>();
    Peer peer = protocol.sessions().require(session, caller.principal());
    protocol.listen(peer, caller, stream.progress(), ended);
    CompletionStage<Void> over = ended;
    over.thenRun(() -> context.runOnContext(home -> stream.end()));
  }
}
