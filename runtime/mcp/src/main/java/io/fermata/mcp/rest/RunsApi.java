package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.HttpRoute;
import io.fermata.mcp.http.RequestExchange;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.vertx.core.http.HttpServerRequest;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** The HTTP API of runs: a caller sees its own runs only; operators fork those of anybody. */
public final class RunsApi implements HttpRoute {
  private static final String PATH = "/runs";

  private static final String FORKS = "forks";
  private static final List<String> MODES =
      Arrays.stream(ForkOrigin.Mode.values()).map(RunJson::name).toList();

  private static final int PAGE = 100;

  private final Runs runs;
  private final CallQuotas quotas;
  private final ToolScopes scopes;
  private final Set<String> operators;

  /**
   * @param operators the principals that may fork runs
   */
  public RunsApi(Runs runs, CallQuotas quotas, ToolScopes scopes, Set<String> operators) {
    this.runs = runs;
    this.quotas = quotas;
    this.scopes = scopes;
    this.operators = operators;
  }

  @Override
  public String path() {
    return PATH;
  }

  @Override
  public void serve(HttpServerRequest http, AuthenticatedCaller caller) {
    RequestExchange.answer(http, body -> answer(http, caller, body), HttpError::refused);
  }

  private CompletionStage<Response> answer(
      HttpServerRequest http, AuthenticatedCaller caller, byte[] body) {
    try {
      ApiRequest request = ApiRequest.of(http, PATH, caller);
      return quotas
          .during(caller.principal(), () -> route(request, body))
          .exceptionally(HttpError::answer);
    } catch (RuntimeException e) {
      return CompletableFuture.completedFuture(HttpError.answer(e));
    }
  }

  private CompletionStage<Response> route(ApiRequest request, byte[] body) {
    List<String> place = request.place();
    if (place.size() == 3 && place.get(2).equals(FORKS)) {
      if (!request.method().equals("POST")) {
        throw HttpError.methods("POST");
      }
      return fork(request, place.get(0), place.get(1), body);
    } else if (!place.isEmpty() && place.size() != 2) {
      throw HttpError.notFound();
    } else if (!request.method().equals("GET")) {
      throw HttpError.methods("GET");
    }
    return place.isEmpty() ? list(request) : get(request, place.get(0), place.get(1));
  }

  private CompletionStage<Response> get(ApiRequest request, String flow, String runId) {
    request.requireQuery();
    scopes.require(flow, request.caller());
    return runs.get(flow, runId)
        .thenApply(
            run ->
                run.filter(found -> found.principal().equals(request.principal()))
                    .map(found -> json(RunJson.run(found)))
                    .orElseThrow(() -> HttpError.of(404, "unknown_run", "There is no such run")));
  }

  private CompletionStage<Response> fork(
      ApiRequest request, String flow, String runId, byte[] body) {
    request.requireQuery();
    if (!operators.contains(request.principal())) {
      throw HttpError.of(
          403,
          "may_not_operate",
          "Only operators fork runs, and %s is none: let the operator of the server permit it with operators"
              .formatted(request.principal()));
    }
    scopes.require(flow, request.caller());
    request.requireJson();
    BodyFields fields = BodyFields.of(body, true);
    JsonNode entry = fields.any("entry");
    if (entry == null || !entry.canConvertToLong() || !entry.isIntegralNumber()) {
      fields.wrong("entry", "is required: the number of an entry in the run's journal");
    }
    String mode = fields.oneOf("mode", MODES);
    if (mode == null) {
      fields.wrong("mode", "is required: one of " + String.join(", ", MODES));
    }
    ObjectNode answers = fields.object("answers");
    Boolean newest = fields.flag("newestVersion");
    fields.check();
    ForkOptions options =
        ForkOptions.of(ForkOrigin.Mode.valueOf(String.valueOf(mode).toUpperCase(Locale.ROOT)))
            .answers(answers == null ? Json.object() : answers)
            .by(request.principal());
    long at = entry == null ? 0 : entry.longValue();
    return runs.fork(
            flow, runId, at, Boolean.TRUE.equals(newest) ? options.onNewestVersion() : options)
        .thenApply(RunsApi::forked);
  }

  private static Response forked(Fork fork) {
    ObjectNode body = Json.object();
    body.put("flow", fork.flow()).put("runId", fork.runId());
    body.put("principal", fork.principal()).put("sessionId", fork.sessionId());
    body.set("reply", fork.reply().structured());
    return Response.of(201, JsonRpcCodec.json(body).getBytes(StandardCharsets.UTF_8))
        .with("location", PATH + "/" + fork.flow() + "/" + fork.runId())
        .with("cache-control", "no-store");
  }

  private CompletionStage<Response> list(ApiRequest request) {
    request.requireQuery(
        "flow",
        "session",
        "version",
        "status",
        "tag",
        "q",
        "startedFrom",
        "startedBefore",
        "longerThan",
        "sort",
        "limit",
        "cursor");
    String flow = request.query("flow");
    if (flow != null) {
      scopes.require(flow, request.caller());
    }
    RunQuery query =
        RunQuery.ALL
            .principal(request.principal())
            .flow(flow)
            .session(request.query("session"))
            .version(
                request.query("version") == null
                    ? null
                    : Integer.valueOf(request.number("version", 0, 0, Integer.MAX_VALUE)))
            .statuses(statuses(request))
            .tags(Set.copyOf(request.all("tag")))
            .text(request.query("q"))
            .started(time(request, "startedFrom"), time(request, "startedBefore"))
            .before(longerThan(request))
            .order(order(request))
            .limit(request.number("limit", 50, 1, PAGE))
            .cursor(request.query("cursor"));
    return listed(query)
        .thenApply(
            page -> {
              ObjectNode body = Json.object();
              ArrayNode all = body.putArray("runs");
              page.runs().stream()
                  .filter(run -> scopes.allow(run.flow(), request.caller()))
                  .forEach(run -> all.add(RunJson.run(run)));
              return json(body.put("cursor", page.cursor()));
            });
  }

  private CompletionStage<Runs.Page> listed(RunQuery query) {
    try {
      return runs.list(query);
    } catch (IllegalArgumentException e) {
      throw HttpError.of(400, "invalid_query", String.valueOf(e.getMessage()));
    }
  }

  private static Set<RunInfo.Status> statuses(ApiRequest request) {
    Set<RunInfo.Status> statuses = new HashSet<>();
    for (String name : request.all("status")) {
      statuses.add(
          RunJson.status(name)
              .orElseThrow(() -> ApiRequest.wrong("status", "must be one of " + RunJson.STATUSES)));
    }
    return statuses;
  }

  private static RunQuery.Order order(ApiRequest request) {
    String sort = request.query("sort");
    if (sort != null && !sort.equals("started") && !sort.equals("longest")) {
      throw ApiRequest.wrong("sort", "must be started or longest");
    }
    return sort == null
        ? RunQuery.Order.STARTED
        : RunQuery.Order.valueOf(sort.toUpperCase(Locale.ROOT));
  }

  private static @Nullable Instant time(ApiRequest request, String name) {
    String text = request.query(name);
    try {
      return text == null ? null : Instant.parse(text);
    } catch (DateTimeParseException e) {
      throw ApiRequest.wrong(name, "must be a time such as 2026-03-01T09:00:00Z");
    }
  }

  private static @Nullable Instant longerThan(ApiRequest request) {
    String text = request.query("longerThan");
    try {
      return text == null ? null : Instant.now().minus(Duration.parse(text));
    } catch (DateTimeException | ArithmeticException e) {
      throw ApiRequest.wrong("longerThan", "must be a duration such as PT5M");
    }
  }

  private static Response json(ObjectNode body) {
    return Response.of(200, JsonRpcCodec.json(body).getBytes(StandardCharsets.UTF_8))
        .with("cache-control", "no-store");
  }
}
