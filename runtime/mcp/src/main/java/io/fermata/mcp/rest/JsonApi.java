package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.HttpRoute;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.Erased;
import io.vertx.core.http.HttpServerRequest;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An API in JSON: a table of endpoints, whose requests count towards what their callers may take
 * up.
 */
abstract class JsonApi implements HttpRoute {
  private final String path;
  private final CallQuotas quotas;
  private final Map<PathTemplate, Map<String, Endpoint>> endpoints = new LinkedHashMap<>();

  /** A path below that of the API; a part in braces is what a client chooses. */
  private record PathTemplate(List<String> parts) {
    boolean matches(List<String> place) {
      return (place.size() == parts.size() || (place.size() > parts.size() && isOpen()))
          && IntStream.range(0, parts.size())
              .allMatch(i -> isChosen(parts.get(i)) || parts.get(i).equals(place.get(i)));
    }

    private boolean isOpen() {
      return !parts.isEmpty() && parts.get(parts.size() - 1).endsWith("...}");
    }

    static boolean isChosen(String part) {
      return part.startsWith("{");
    }
  }

  private record Endpoint(
      Set<String> parameters, Function<ApiRequest, CompletionStage<Response>> handler) {}

  JsonApi(String path, CallQuotas quotas) {
    this.path = path;
    this.quotas = quotas;
  }

  /**
   * Adds an endpoint.
   *
   * @param place the path and the parameters of the query, as in {@code /{id}/messages?before}; a
   *     last part such as <code>{path...}</code> stands for one or more
   */
  final void on(
      String method, String place, Function<ApiRequest, CompletionStage<Response>> handler) {
    List<String> query = List.of(place.split("[?&]"));
    PathTemplate template =
        new PathTemplate(Stream.of(query.get(0).split("/", -1)).skip(1).toList());
    endpoints
        .computeIfAbsent(template, first -> new LinkedHashMap<>())
        .put(method, new Endpoint(Set.copyOf(query.subList(1, query.size())), handler));
  }

  @Override
  public final String path() {
    return path;
  }

  @Override
  public final Set<String> names() {
    return endpoints.keySet().stream()
        .flatMap(each -> each.parts.stream())
        .filter(part -> !PathTemplate.isChosen(part))
        .collect(Collectors.toSet());
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
  CompletionStage<Response> route(ApiRequest request) {
    Map<String, Endpoint> here =
        endpoints.entrySet().stream()
            .filter(each -> each.getKey().matches(request.place()))
            .findFirst()
            .map(Map.Entry::getValue)
            .orElseThrow(HttpError::notFound);
    Endpoint endpoint = here.get(request.method());
    if (endpoint == null) {
      throw HttpError.methods(String.join(", ", here.keySet()));
    }
    request.requireQuery(endpoint.parameters);
    return endpoint.handler.apply(request);
  }

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
