package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.ForkOrigin;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.access.AuthenticatedCaller;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.HttpRoute;
import io.fermata.mcp.http.RequestExchange;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
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
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The HTTP API of runs: a caller sees its own runs only; operators operate those of anybody. */
public final class RunsApi implements HttpRoute {
  private static final String PATH = "/runs";

  private static final String FORKS = "forks";
  private static final String CANCEL = "cancel";
  private static final String RESOLVE = "resolve";
  private static final String ENTRIES = "entries";
  private static final Set<String> PARTS = Set.of(FORKS, CANCEL, RESOLVE, ENTRIES);
  private static final List<String> RESOLUTIONS =
      Arrays.stream(Input.Resolution.values()).map(RunJson::name).toList();

  /** The names of flows and the ids of runs; a store need not take any others. */
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,128}");

  /** The errors with which a run refuses an operation; others are where the run has stopped. */
  private static final Set<String> REFUSALS =
      Stream.concat(
              Arrays.stream(HostError.values())
                  .filter(error -> error != HostError.STILL_WORKING)
                  .map(HostError::wireName),
              Stream.of(
                      ErrorCode.NOTHING_TO_RESOLVE,
                      ErrorCode.UNKNOWN_RUN,
                      ErrorCode.RUN_COMPLETED,
                      ErrorCode.RUN_CANCELLED,
                      ErrorCode.RUN_EXPIRED,
                      ErrorCode.RUN_FAILED,
                      ErrorCode.RUN_ENDING,
                      ErrorCode.VERSION_CHANGED,
                      ErrorCode.MIGRATION_FAILED)
                  .map(ErrorCode::wireName))
          .collect(Collectors.toUnmodifiableSet());

  private static final List<String> MODES =
      Arrays.stream(ForkOrigin.Mode.values()).map(RunJson::name).toList();

  private static final int PAGE = 100;

  private final Runs runs;
  private final CallQuotas quotas;
  private final ToolScopes scopes;
  private final Set<String> operators;
  private final AuditLog audit;

  /**
   * @param operators the principals that may see and change the runs of others
   */
  public RunsApi(
      Runs runs, CallQuotas quotas, ToolScopes scopes, Set<String> operators, AuditLog audit) {
    this.runs = runs;
    this.quotas = quotas;
    this.scopes = scopes;
    this.operators = operators;
    this.audit = audit;
  }

  @Override
  public String path() {
    return PATH;
  }

  @Override
  public Set<String> names() {
    return PARTS;
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
    String method = request.method();
    if (place.isEmpty()) {
      requireMethod(method, "GET");
      return list(request);
    } else if (place.size() < 2 || place.size() > 3) {
      throw HttpError.notFound();
    }
    String flow = place.get(0);
    String runId = place.get(1);
    if (place.size() == 2) {
      return switch (method) {
        case "GET" -> get(request, flow, runId);
        case "DELETE" -> erase(request, flow, runId);
        default -> throw HttpError.methods("GET, DELETE");
      };
    }
    String part = place.get(2);
    if (!PARTS.contains(part)) {
      throw HttpError.notFound();
    }
    requireMethod(method, part.equals(ENTRIES) ? "GET" : "POST");
    return switch (part) {
      case ENTRIES -> entries(request, flow, runId);
      case CANCEL -> cancel(request, flow, runId, body);
      case RESOLVE -> resolve(request, flow, runId, body);
      default -> fork(request, flow, runId, body);
    };
  }

  private static void requireMethod(String method, String allowed) {
    if (!method.equals(allowed)) {
      throw HttpError.methods(allowed);
    }
  }

  private CompletionStage<Response> get(ApiRequest request, String flow, String runId) {
    request.requireQuery();
    requireNames(flow, runId);
    scopes.require(flow, request.caller());
    boolean operates = operators.contains(request.principal());
    return runs.get(flow, runId)
        .thenApply(
            run ->
                run.filter(found -> operates || found.principal().equals(request.principal()))
                    .map(RunJson::run)
                    .orElseThrow(RunsApi::unknown))
        .thenCompose(
            listed ->
                operates
                    ? runs.status(flow, runId).thenApply(now -> json(withReply(listed, now)))
                    : CompletableFuture.completedFuture(json(listed)));
  }

  /** The entry of a list says what a run was a second ago, its reply what it is now. */
  private static ObjectNode withReply(ObjectNode listed, ToolReply now) {
    boolean past = now.structured().path("code").asText().equals(ErrorCode.UNKNOWN_RUN.wireName());
    return past ? listed : listed.set("reply", now.structured());
  }

  private static HttpError unknown() {
    return HttpError.of(404, "unknown_run", "There is no such run");
  }

  private static void requireNames(String flow, String runId) {
    if (!NAME.matcher(flow).matches() || !NAME.matcher(runId).matches()) {
      throw unknown();
    }
  }

  // --- operators -------------------------------------------------------------------------------

  /** What operators alone do. */
  private enum Operation {
    LIST("list the runs of others"),
    READ("read the entries of runs"),
    CANCEL("cancel runs here"),
    RESOLVE("resolve runs"),
    ERASE("erase runs"),
    FORK("fork runs");

    final String what;

    Operation(String what) {
      this.what = what;
    }
  }

  private static String named(String flow, String runId) {
    return flow + "/" + runId;
  }

  private CompletionStage<Response> audited(
      ApiRequest request,
      String operation,
      String flow,
      String runId,
      Supplier<CompletionStage<Response>> change) {
    return request.audited(audit, operation, named(flow, runId), change);
  }

  /** The only place that decides who may see and change the runs of others. */
  private void requireOperator(ApiRequest request, Operation operation, @Nullable String run) {
    if (!operators.contains(request.principal())) {
      String code = "may_not_operate";
      audit.refused(request.principal(), RunJson.name(operation), run, code);
      throw HttpError.of(
          403,
          code,
          "Only operators %s, and %s is none: let the operator of the server permit it with operators"
              .formatted(operation.what, request.principal()));
    }
  }

  private void requireOperator(ApiRequest request, Operation operation, String flow, String runId) {
    request.requireQuery();
    requireOperator(request, operation, named(flow, runId));
    requireNames(flow, runId);
    scopes.require(flow, request.caller());
  }

  private CompletionStage<Response> entries(ApiRequest request, String flow, String runId) {
    request.requireQuery("after", "limit");
    requireOperator(request, Operation.READ, named(flow, runId));
    requireNames(flow, runId);
    scopes.require(flow, request.caller());
    long after = request.number("after", 0, 0, Integer.MAX_VALUE);
    int limit = request.number("limit", PAGE, 1, PAGE);
    return runs.entries(flow, runId, after, limit)
        .thenApply(
            page -> {
              ObjectNode body = Json.object();
              ArrayNode all = body.putArray("entries");
              page.forEach(entry -> all.add(RunJson.entry(entry)));
              return json(body);
            });
  }

  private CompletionStage<Response> cancel(
      ApiRequest request, String flow, String runId, byte[] body) {
    requireOperator(request, Operation.CANCEL, flow, runId);
    if (body.length > 0) {
      request.requireJson();
    }
    BodyFields.of(body, false).check();
    return audited(
        request,
        "cancel",
        flow,
        runId,
        () ->
            runs.cancel(flow, runId, request.principal())
                .thenApply(reply -> operated(flow, runId, reply)));
  }

  private CompletionStage<Response> resolve(
      ApiRequest request, String flow, String runId, byte[] body) {
    requireOperator(request, Operation.RESOLVE, flow, runId);
    request.requireJson();
    BodyFields fields = BodyFields.of(body, true);
    String resolution = fields.oneOf("resolution", RESOLUTIONS);
    if (resolution == null) {
      fields.wrong("resolution", "is required: one of " + String.join(", ", RESOLUTIONS));
    }
    fields.check();
    Input.Resolution decided =
        Input.Resolution.valueOf(String.valueOf(resolution).toUpperCase(Locale.ROOT));
    return audited(
        request,
        "resolve_" + resolution,
        flow,
        runId,
        () ->
            runs.resolve(flow, runId, decided, request.principal())
                .thenApply(reply -> operated(flow, runId, reply)));
  }

  /** A run that is still working has begun what it was asked to do. */
  private static Response operated(String flow, String runId, ToolReply reply) {
    String code = reply.structured().path("code").asText();
    if (REFUSALS.contains(code)) {
      throw HttpError.of(code, reply.structured().path("error").asText(code));
    }
    ObjectNode body = Json.object().put("flow", flow).put("runId", runId);
    body.set("reply", reply.structured());
    return json(code.equals(HostError.STILL_WORKING.wireName()) ? 202 : 200, body);
  }

  private CompletionStage<Response> erase(ApiRequest request, String flow, String runId) {
    requireOperator(request, Operation.ERASE, flow, runId);
    return audited(
        request, "erase", flow, runId, () -> runs.erase(flow, runId).thenApply(RunsApi::erased));
  }

  private static Response erased(Erased erased) {
    return json(
        Json.object()
            .put("journals", erased.journals())
            .put("records", erased.records())
            .put("snapshots", erased.snapshots())
            .put("entries", erased.entries())
            .put("undelivered", erased.undelivered()));
  }

  private CompletionStage<Response> fork(
      ApiRequest request, String flow, String runId, byte[] body) {
    requireOperator(request, Operation.FORK, flow, runId);
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
    JsonNode version = fields.any("version");
    if (version != null && (!version.canConvertToInt() || !version.isIntegralNumber())) {
      fields.wrong("version", "must be the number of a version");
    } else if (version != null && newest != null) {
      fields.wrong("version", "names the version; leave out newestVersion");
    }
    fields.check();
    ForkOptions options =
        ForkOptions.of(ForkOrigin.Mode.valueOf(String.valueOf(mode).toUpperCase(Locale.ROOT)))
            .answers(answers == null ? Json.object() : answers)
            .by(request.principal());
    long at = entry == null ? 0 : entry.longValue();
    ForkOptions chosen = Boolean.TRUE.equals(newest) ? options.onNewestVersion() : options;
    ForkOptions named = version == null ? chosen : options.onVersion(version.intValue());
    return audited(
        request,
        "fork",
        flow,
        runId,
        () -> runs.fork(flow, runId, at, named).thenApply(RunsApi::forked));
  }

  private static Response forked(Fork fork) {
    return Response.of(
            201, JsonRpcCodec.json(RunJson.forked(fork)).getBytes(StandardCharsets.UTF_8))
        .with("location", PATH + "/" + fork.flow() + "/" + fork.runId())
        .with("cache-control", "no-store");
  }

  // --- the list --------------------------------------------------------------------------------

  /** Whose runs to list; null for everybody's. */
  private @Nullable String owner(ApiRequest request) {
    String principal = request.query("principal");
    boolean all = request.flag("all");
    if (all || (principal != null && !principal.equals(request.principal()))) {
      requireOperator(request, Operation.LIST, null);
    }
    if (all && principal != null) {
      throw ApiRequest.wrong("all", "cannot be combined with principal");
    }
    return all || principal != null ? principal : request.principal();
  }

  private CompletionStage<Response> list(ApiRequest request) {
    request.requireQuery(
        "principal",
        "all",
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
            .principal(owner(request))
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
    return json(200, body);
  }

  private static Response json(int status, ObjectNode body) {
    return Response.of(status, JsonRpcCodec.json(body).getBytes(StandardCharsets.UTF_8))
        .with("cache-control", "no-store");
  }
}
