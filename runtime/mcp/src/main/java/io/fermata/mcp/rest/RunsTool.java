package io.fermata.mcp.rest;

import com.fasterxml.jackson.databind.EnumNamingStrategies.SnakeCaseStrategy;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.schema.Describe;
import io.fermata.mcp.access.AuditLog;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.http.HttpError;
import io.fermata.mcp.http.RequestError;
import io.fermata.mcp.rest.Bodies.ForkMode;
import io.fermata.mcp.rest.Bodies.RunForking;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunJson;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.key.RootCauses;
import jakarta.validation.constraints.Min;
import java.util.Objects;
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
  private static final String UNKNOWN = ErrorCode.UNKNOWN_RUN.wireName();

  @EnumNaming(SnakeCaseStrategy.class)
  enum RunsAction {
    LIST,
    ENTRIES,
    FORK
  }

  /** Many models send an empty text for what they leave out. */
  record RunsRequest(
      RunsAction action,
      @Nullable @Describe("The tool of the run; needed but for list") String flow,
      @Nullable @Describe("The run; needed but for list") String runId,
      RunInfo.@Nullable Status status,
      @Nullable @Describe("With list: whose runs") String principal,
      @Nullable @Describe("With list: that of the page before") String cursor,
      @Nullable @Min(0) @Describe("With entries: the last known; with fork: the one to begin from")
          Long entry,
      @Nullable @Describe("With fork: answers by field, in place of the run's") ObjectNode answers,
      @Nullable @Describe("With fork: onto the newest version of the flow") Boolean newestVersion,
      @Nullable @Min(0) @Describe("With fork: onto this version of the flow") Integer version) {
    RunsRequest {
      flow = given(flow);
      runId = given(runId);
      principal = given(principal);
      cursor = given(cursor);
    }

    private static @Nullable String given(@Nullable String text) {
      return text == null || text.isEmpty() ? null : text;
    }
  }

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
        .input(RunsRequest.class)
        .scopes(scopes.toArray(String[]::new))
        .callAsync(tool::call);
  }

  private CompletionStage<McpResult> call(McpCall call) {
    RunsRequest request = call.arguments(RunsRequest.class);
    if (!operators.contains(call.principal())) {
      audit.refused(
          call.principal(),
          RunJson.name(request.action),
          NAME,
          RequestError.MAY_NOT_OPERATE.wireName());
      return now(
          McpResult.error(
              "Only operators may use this tool, and %s is none: let the operator of the server permit it with operators"
                  .formatted(call.principal())));
    }
    try {
      return act(request, call.principal()).exceptionallyCompose(RunsTool::refused);
    } catch (RuntimeException e) {
      return refused(e);
    }
  }

  private CompletionStage<McpResult> act(RunsRequest request, String principal) {
    String flow = request.flow;
    String runId = request.runId;
    if (request.version != null && request.newestVersion != null) {
      return now(McpResult.error("version names the version; leave out newestVersion"));
    } else if (request.action == RunsAction.LIST) {
      return list(request);
    } else if (flow == null || runId == null) {
      return needs(request, "flow and runId");
    } else if (!RunsApi.areNames(flow, runId)) {
      return refused(UNKNOWN, "There is no such run");
    } else if (request.action == RunsAction.ENTRIES) {
      return runs.entries(flow, runId, Objects.requireNonNullElse(request.entry, 0L), PAGE)
          .thenApply(entries -> McpResult.structured(RunJson.entries(entries)));
    }
    return fork(request, flow, runId, principal);
  }

  private static CompletionStage<McpResult> needs(RunsRequest request, String what) {
    return now(McpResult.error("The action " + RunJson.name(request.action) + " needs " + what));
  }

  private static CompletionStage<McpResult> now(McpResult result) {
    return CompletableFuture.completedFuture(result);
  }

  private static CompletionStage<McpResult> refused(Throwable thrown) {
    Throwable cause = RootCauses.of(thrown);
    String text = String.valueOf(cause.getMessage());
    if (cause instanceof ThreadException known) {
      return refused(known.code(), text);
    } else if (cause instanceof ForkException known) {
      return refused(known.code(), text);
    }
    return cause instanceof IllegalArgumentException
        ? now(McpResult.error(text))
        : CompletableFuture.failedFuture(thrown);
  }

  private static CompletionStage<McpResult> refused(String code, String why) {
    String repair = code.equals(UNKNOWN) ? ". List the runs with action list." : "";
    return now(McpResult.error(code + ": " + why + repair));
  }

  private CompletionStage<McpResult> list(RunsRequest request) {
    RunQuery query =
        RunQuery.ALL
            .principal(request.principal)
            .flow(request.flow)
            .statuses(request.status == null ? Set.of() : Set.of(request.status))
            .limit(PAGE)
            .cursor(request.cursor);
    return runs.list(query).thenApply(page -> McpResult.structured(RunJson.page(page)));
  }

  private CompletionStage<McpResult> fork(
      RunsRequest request, String flow, String runId, String principal) {
    if (request.entry == null) {
      return needs(request, "entry");
    }
    RunForking how =
        new RunForking(
            request.entry,
            ForkMode.SANDBOX,
            request.answers,
            request.newestVersion,
            request.version);
    return runs.fork(flow, runId, how.entry(), how.options(principal))
        .whenComplete(
            (done, thrown) ->
                audit.changed(
                    principal,
                    "fork",
                    flow + "/" + runId,
                    thrown == null ? "done" : HttpError.code(thrown)))
        .thenApply(fork -> McpResult.structured(RunJson.forked(fork)));
  }
}
