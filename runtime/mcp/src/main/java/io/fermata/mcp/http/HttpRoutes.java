package io.fermata.mcp.http;

import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.rpc.Response;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP APIs besides MCP.
 *
 * @param telemetry counts their requests as calls, by the path of their API
 */
public record HttpRoutes(List<HttpRoute> all, RequestGate gate, Telemetry telemetry) {
  private static final Activity.End OK = Activity.End.of(Activity.End.OK);

  /** The API that serves a path; null if none does. */
  @Nullable HttpRoute at(@Nullable String path) {
    for (HttpRoute route : all) {
      if (route.serves(path)) {
        return route;
      }
    }
    return null;
  }

  /** Counts the request in flight, as calls are, so that it is answered before the server ends. */
  CompletionStage<Response> answer(
      HttpRoute route, HttpServerRequest request, AuthenticatedCaller caller, byte[] body) {
    Activity activity =
        telemetry.called(new Telemetry.Call(route.path(), Telemetry.Kind.HTTP, TraceContext.NONE));
    try {
      gate.enter();
    } catch (RpcException closed) {
      HttpError refusal = HttpError.shuttingDown();
      activity.end(end(refusal));
      return CompletableFuture.completedFuture(HttpError.answer(refusal));
    }
    return gate.orIfCutOff(route.answer(request, caller, body))
        .whenComplete((answer, failure) -> activity.end(failure == null ? OK : end(failure)))
        .exceptionally(HttpError::answer)
        .whenComplete((answer, never) -> gate.leave());
  }

  private static Activity.End end(Throwable failure) {
    return new Activity.End("error", HttpError.code(failure), null, 0);
  }
}
