package io.fermata.mcp.call;

import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.feature.McpTool;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.key.LogLabels;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Telemetry and log labels of one call of a plain tool. */
final class PlainCallTelemetry {
  private static final Activity.End ASKED = Activity.End.of("input_required");
  private static final Activity.End ERROR = new Activity.End("error", "tool_error", null, 0);

  private final McpTool tool;
  private final String principal;
  private final Activity activity;
  private volatile Activity.@Nullable End end;

  private PlainCallTelemetry(McpTool tool, String principal, Activity activity) {
    this.tool = tool;
    this.principal = principal;
    this.activity = activity;
  }

  static PlainCallTelemetry begin(Telemetry telemetry, McpTool tool, McpRequest request) {
    Activity activity =
        telemetry == Telemetry.NONE
            ? Activity.NONE
            : telemetry.called(
                new Telemetry.Call(
                    tool.name(), Telemetry.Kind.PLAIN, TraceContext.of(request.meta())));
    return new PlainCallTelemetry(tool, request.principal(), activity);
  }

  /** Runs the handler within the activity of the call and with its log labels. */
  @SuppressWarnings("try") // The resources are only closed.
  CompletionStage<McpResult> invoke(Callable<CompletionStage<McpResult>> handler) {
    try (Activity.Entered here = activity.enter();
        LogLabels labels = labels()) {
      return handler.call();
    } catch (Throwable e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  private LogLabels labels() {
    LogLabels labels = LogLabels.on().with(LogLabels.TOOL, tool.name());
    return tool.atOnce() ? labels : labels.caller(principal);
  }

  /** Takes the result of the handler; there is none if the handler asks the client. */
  void completed(McpResult result) {
    end = result.error() ? ERROR : Activity.End.of(Activity.End.OK);
  }

  /** Runs all the work of the call, and ends its activity. */
  CompletionStage<RpcResult> track(Supplier<CompletionStage<RpcResult>> work) {
    if (activity == Activity.NONE) {
      return work.get();
    }
    CompletionStage<RpcResult> answer;
    try {
      answer = work.get();
    } catch (RuntimeException e) {
      answer = CompletableFuture.failedFuture(e);
    }
    return answer.whenComplete((result, failure) -> activity.end(end(failure)));
  }

  private Activity.End end(@Nullable Throwable failure) {
    Activity.End result = end;
    if (failure != null) {
      return Activity.End.of(Activity.End.FAILED);
    }
    return result == null ? ASKED : result;
  }
}
