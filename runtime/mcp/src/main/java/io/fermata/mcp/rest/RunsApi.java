package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.mcp.access.CallQuotas;
import io.fermata.mcp.access.ToolScopes;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.rest.Operators.Operation;
import io.fermata.mcp.rpc.Response;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Arrays;
import java.util.HashSet;
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
public final class RunsApi extends JsonApi {
  private static final String PATH = "/runs";

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

  private static final int PAGE = 100;

  private interface RunHandler {
    CompletionStage<Response> answer(ApiRequest request, String flow, String runId);
  }

  private final Runs runs;
  private final ToolScopes scopes;
  private final Operators operators;

  public RunsApi(Runs runs, CallQuotas quotas, ToolScopes scopes, Operators operators) {
    super(PATH, quotas);
    this.runs = runs;
    this.scopes = scopes;
    this.operators = operators;
    on(
        "GET",
        "?principal&all&flow&session&version&status&tag&q"
            + "&startedFrom&startedBefore&longerThan&sort&limit&cursor",
        this::list);
    onRun("GET", "", this::get);
    onRun("DELETE", "", this::erase);
    onRun("GET", "/entries?after&limit", this::entries);
    onRun("POST", "/cancel", this::cancel);
    onRun("POST", "/resolve", this::resolve);
    onRun("POST", "/forks", this::fork);
  }

  private void onRun(String method, String part, RunHandler handler) {
    on(
        method,
        "/{flow}/{runId}" + part,
        request -> handler.answer(request, request.place().get(0), request.place().get(1)));
  }

  private CompletionStage<Response> get(ApiRequest request, String flow, String runId) {
    requireNames(flow, runId);
    scopes.require(flow, request.caller());
    boolean operates = operators.have(request);
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
    return HttpError.of(ErrorCode.UNKNOWN_RUN.wireName(), "There is no such run");
  }

  static boolean areNames(String flow, String runId) {
    return NAME.matcher(flow).matches() && NAME.matcher(runId).matches();
  }

  private static void requireNames(String flow, String runId) {
    if (!areNames(flow, runId)) {
      throw unknown();
    }
  }

  // --- operators -------------------------------------------------------------------------------

  private static String named(String flow, String runId) {
    return flow + "/" + runId;
  }

  private CompletionStage<Response> audited(
      ApiRequest request,
      String operation,
      String flow,
      String runId,
      Supplier<CompletionStage<Response>> change) {
    return request.audited(operators.audit(), operation, named(flow, runId), change);
  }

  private void requireOperator(ApiRequest request, Operation operation, String flow, String runId) {
    operators.require(request, operation, named(flow, runId));
    requireNames(flow, runId);
    scopes.require(flow, request.caller());
  }

  private CompletionStage<Response> entries(ApiRequest request, String flow, String runId) {
    requireOperator(request, Operation.READ, flow, runId);
    long after = request.number("after", 0, 0, Integer.MAX_VALUE);
    int limit = request.number("limit", PAGE, 1, PAGE);
    return runs.entries(flow, runId, after, limit)
        .thenApply(entries -> json(RunJson.entries(entries)));
  }

  private CompletionStage<Response> cancel(ApiRequest request, String flow, String runId) {
    requireOperator(request, Operation.CANCEL, flow, runId);
    request.optionalBody(Bodies.Empty.class);
    return audited(
        request,
        "cancel",
        flow,
        runId,
        () ->
            runs.cancel(flow, runId, request.principal())
                .thenApply(reply -> operated(flow, runId, reply)));
  }

  private CompletionStage<Response> resolve(ApiRequest request, String flow, String runId) {
    requireOperator(request, Operation.RESOLVE, flow, runId);
    Bodies.Resolving body = request.body(Bodies.Resolving.class);
    Input.Resolution resolution = Input.Resolution.valueOf(body.resolution().name());
    String key = request.key();
    return audited(
        request,
        "resolve_" + RunJson.name(resolution),
        flow,
        runId,
        () ->
            runs.resolve(flow, runId, resolution, request.principal(), key)
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
        request, "erase", flow, runId, () -> runs.erase(flow, runId).thenApply(JsonApi::erased));
  }

  private CompletionStage<Response> fork(ApiRequest request, String flow, String runId) {
    requireOperator(request, Operation.FORK, flow, runId);
    Bodies.RunForking body = request.body(Bodies.RunForking.class);
    request.requireNoKey("list the runs");
    if (body.version() != null && body.newestVersion() != null) {
      throw ApiRequest.wrong("version", "names the version; leave out newestVersion");
    }
    ForkOptions how = body.options(request.principal());
    return audited(
        request,
        "fork",
        flow,
        runId,
        () -> runs.fork(flow, runId, body.entry(), how).thenApply(RunsApi::forked));
  }

  private static Response forked(Fork fork) {
    return json(201, RunJson.forked(fork))
        .with("location", PATH + "/" + fork.flow() + "/" + fork.runId());
  }

  // --- the list --------------------------------------------------------------------------------

  /** Whose runs to list; null for everybody's. */
  private @Nullable String owner(ApiRequest request) {
    String principal = request.query("principal");
    boolean all = request.flag("all");
    if (all || (principal != null && !principal.equals(request.principal()))) {
      operators.require(request, Operation.LIST, null);
    }
    if (all && principal != null) {
      throw ApiRequest.wrong("all", "cannot be combined with principal");
    }
    return all || principal != null ? principal : request.principal();
  }

  private CompletionStage<Response> list(ApiRequest request) {
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
            .order(order(request))
            .limit(request.number("limit", 50, 1, PAGE))
            .cursor(request.query("cursor"));
    return listed(longerThan(request, query))
        .thenApply(
            page ->
                json(
                    RunJson.page(
                        page.runs().stream()
                            .filter(run -> scopes.allow(run.flow(), request.caller())),
                        page.cursor())));
  }

  private CompletionStage<Runs.Page> listed(RunQuery query) {
    try {
      return runs.list(query);
    } catch (IllegalArgumentException e) {
      throw HttpError.of(HostError.INVALID_QUERY.wireName(), String.valueOf(e.getMessage()));
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
      return text == null ? null : countable(Instant.parse(text));
    } catch (DateTimeParseException | ArithmeticException e) {
      throw ApiRequest.wrong(name, "must be a time such as 2026-03-01T09:00:00Z");
    }
  }

  /**
   * A time that a count of milliseconds can express.
   *
   * @throws ArithmeticException if it is too far away for that
   */
  private static Instant countable(Instant time) {
    return Instant.ofEpochMilli(time.toEpochMilli());
  }

  private static RunQuery longerThan(ApiRequest request, RunQuery query) {
    String text = request.query("longerThan");
    try {
      return text == null ? query : query.longerThan(Duration.parse(text));
    } catch (DateTimeParseException | IllegalArgumentException e) {
      throw ApiRequest.wrong("longerThan", "must be a duration such as PT5M");
    }
  }
}
