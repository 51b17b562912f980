package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.http.HttpError;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.RootCauses;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A tool with which an operator's model looks at the runs of others and forks them into a sandbox.
 * What changes a run or performs effects is left to people, over HTTP.
 */
public final class RunsTool {
  public static final String NAME = "operate_runs";

  private static final int PAGE = 20;

  private final Runs runs;
  private final Set<String> operators;
  private final AuditLog audit;

  private RunsTool(Runs runs, Set<String> operators, AuditLog audit) {
    this.runs = runs;
    this.operators = operators;
    this.audit = audit;
  }

  /**
   * Creates the tool.
   *
   * @param operators the principals that may use it
   * @param scopes what a token needs for it: it reaches the runs of all flows
   */
  public static McpTool of(Runs runs, Set<String> operators, AuditLog audit, Set<String> scopes) {
    RunsTool tool = new RunsTool(runs, operators, audit);
    return McpTool.of(
            NAME,
            "Looks at the runs of all users, for operators. list: the latest runs. entries: what"
                + " happened in a run, entry by entry; secrets are [redacted]. fork: starts a new run"
                + " from an entry of another, with other answers if given, in a sandbox, which performs"
                + " nothing.")
        .title("Operate runs")
        .input(input())
        .scopes(scopes.toArray(String[]::new))
        .callAsync(tool::call);
  }

  private static ObjectNode input() {
    ObjectNode schema = Json.object().put("type", "object").put("additionalProperties", false);
    ObjectNode fields = schema.putObject("properties");
    choice(fields, "action").add("list").add("entries").add("fork");
    text(fields, "flow", "The tool of the run; needed but for list");
    text(fields, "runId", "The run; needed but for list");
    choice(fields, "status");
    Arrays.stream(RunInfo.Status.values())
        .forEach(status -> ((ArrayNode) fields.at("/status/enum")).add(RunJson.name(status)));
    text(fields, "principal", "With list: whose runs");
    text(fields, "cursor", "With list: that of the page before");
    number(fields, "after", "With entries: the last one that is known");
    number(fields, "entry", "With fork: the entry to begin from");
    fields
        .putObject("answers")
        .put("type", "object")
        .put("description", "With fork: answers by field, in place of those of the run");
    fields
        .putObject("newestVersion")
        .put("type", "boolean")
        .put(
            "description", "With fork: whether to carry it over to the newest version of the flow");
    number(fields, "version", "With fork: the version of the flow to carry it over to");
    schema.putArray("required").add("action");
    return schema;
  }

  private static ArrayNode choice(ObjectNode fields, String name) {
    return fields.putObject(name).put("type", "string").putArray("enum");
  }

  private static void text(ObjectNode fields, String name, String description) {
    fields.putObject(name).put("type", "string").put("description", description);
  }

  private static void number(ObjectNode fields, String name, String description) {
    fields
        .putObject(name)
        .put("type", "integer")
        .put("minimum", 0)
        .put("maximum", Integer.MAX_VALUE)
        .put("description", description);
  }

  private CompletionStage<McpResult> call(McpCall call) {
    String action = call.argument("action");
    if (!operators.contains(call.principal())) {
      audit.refused(call.principal(), action, NAME, "may_not_operate");
      return now(
          McpResult.error(
              "Only operators may use this tool, and %s is none: let the operator of the server permit it with operators"
                  .formatted(call.principal())));
    }
    String missing = missing(call, action);
    if (missing != null) {
      return now(McpResult.error("The action " + action + " needs " + missing));
    } else if (call.arguments().has("version") && call.arguments().has("newestVersion")) {
      return now(McpResult.error("version names the version; leave out newestVersion"));
    }
    CompletionStage<McpResult> done;
    try {
      done =
          switch (action) {
            case "list" -> list(call);
            case "entries" -> entries(call);
            default -> fork(call);
          };
    } catch (RuntimeException e) {
      done = CompletableFuture.failedFuture(e);
    }
    return done.exceptionallyCompose(RunsTool::refused);
  }

  private static CompletionStage<McpResult> now(McpResult result) {
    return CompletableFuture.completedFuture(result);
  }

  private static @Nullable String missing(McpCall call, String action) {
    if (action.equals("list")) {
      return null;
    } else if (call.argument("flow").isEmpty() || call.argument("runId").isEmpty()) {
      return "flow and runId";
    }
    return action.equals("fork") && !call.arguments().has("entry") ? "entry" : null;
  }

  private static CompletionStage<McpResult> refused(Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    String text = String.valueOf(cause.getMessage());
    if (cause instanceof ThreadException known) {
      return now(McpResult.error(known.code() + ": " + text));
    } else if (cause instanceof ForkException known) {
      return now(McpResult.error(known.code() + ": " + text));
    }
    return cause instanceof IllegalArgumentException
        ? now(McpResult.error(text))
        : CompletableFuture.failedFuture(thrown);
  }

  private CompletionStage<McpResult> list(McpCall call) {
    RunQuery query =
        RunQuery.ALL
            .principal(given(call, "principal"))
            .flow(given(call, "flow"))
            .statuses(RunJson.status(call.argument("status")).map(Set::of).orElse(Set.of()))
            .limit(PAGE)
            .cursor(given(call, "cursor"));
    return runs.list(query).thenApply(page -> McpResult.structured(RunJson.page(page)));
  }

  private static @Nullable String given(McpCall call, String name) {
    String text = call.argument(name);
    return text.isEmpty() ? null : text;
  }

  private CompletionStage<McpResult> entries(McpCall call) {
    long after = call.arguments().path("after").asLong();
    return runs.entries(call.argument("flow"), call.argument("runId"), after, PAGE)
        .thenApply(entries -> McpResult.structured(RunJson.entries(entries)));
  }

  private CompletionStage<McpResult> fork(McpCall call) {
    String flow = call.argument("flow");
    String runId = call.argument("runId");
    JsonNode answers = call.arguments().path("answers");
    ForkOptions options = ForkOptions.sandbox().by(call.principal());
    if (answers instanceof ObjectNode changed) {
      options = options.answers(changed);
    }
    if (call.arguments().path("newestVersion").asBoolean()) {
      options = options.onNewestVersion();
    }
    if (call.arguments().has("version")) {
      options = options.onVersion(call.arguments().path("version").intValue());
    }
    return runs.fork(flow, runId, call.arguments().path("entry").asLong(), options)
        .whenComplete(
            (done, thrown) ->
                audit.changed(
                    call.principal(),
                    "fork",
                    flow + "/" + runId,
                    thrown == null ? "done" : HttpError.code(thrown)))
        .thenApply(fork -> McpResult.structured(RunJson.forked(fork)));
  }
}
