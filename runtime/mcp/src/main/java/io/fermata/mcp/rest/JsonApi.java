package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.http.HttpRoute;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.Erased;
import io.vertx.core.http.HttpServerRequest;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** An API in JSON, whose requests count towards what their callers may take up. */
abstract class JsonApi implements HttpRoute {
  private final String path;
  private final Set<String> names;
  private final CallQuotas quotas;

  JsonApi(String path, Set<String> names, CallQuotas quotas) {
    this.path = path;
    this.names = names;
    this.quotas = quotas;
  }

  @Override
  public final String path() {
    return path;
  }

  @Override
  public final Set<String> names() {
    return names;
  }

  @Override
  public final CompletionStage<Response> answer(
      HttpServerRequest http, AuthenticatedCaller caller, byte[] body) {
    try {
      ApiRequest request = ApiRequest.of(http, path, caller, body);
      return quotas.during(caller.principal(), () -> route(request));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /** The answer; whatever it throws fails the request. */
  abstract CompletionStage<Response> route(ApiRequest request);

  static Response erased(Erased erased) {
    return json(
        Json.object()
            .put("journals", erased.journals())
            .put("records", erased.records())
            .put("snapshots", erased.snapshots())
            .put("entries", erased.entries())
            .put("undelivered", erased.undelivered()));
  }

  static Response json(ObjectNode body) {
    return json(200, body);
  }

  static Response json(int status, ObjectNode body) {
    return Response.of(status, JsonRpcCodec.bytes(body)).with("cache-control", "no-store");
  }
}
