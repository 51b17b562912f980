package io.fermata.mcp;

import io.fermata.session.Activity;
import io.fermata.session.LogLabels;
import io.fermata.session.Telemetry;
import io.fermata.session.TraceContext;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Telemetry and log labels of one call of a plain tool. */
final class PlainCall {
  private static final Activity.End ASKED = Activity.End.of("input_required");
  private static final Activity.End ERROR = new Activity.End("error", "tool_error", null, 0);

  private final McpTool tool;
  private final String principal;
  private final Activity activity;
  private volatile Activity.@Nullable End end;

  private PlainCall(McpTool tool, String principal, Activity activity) {
    this.tool = tool;
    this.principal = principal;
    this.activity = activity;
  }

  static PlainCall begin(Telemetry telemetry, McpTool tool, Request request) {
    Activity activity =
        telemetry == Telemetry.NONE
            ? Activity.NONE
            : telemetry.called(
                new Telemetry.Call(
                    tool.name(), Telemetry.Kind.PLAIN, TraceContext.of(request.meta())));
    return new PlainCall(tool, request.principal(), activity);
  }

  /** Runs the handler where the call is what goes on, and where the log is about it. */
  @SuppressWarnings("try") // What is entered is only left again.
  CompletionStage<McpResult> handled(Callable<CompletionStage<McpResult>> handler) {
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

  /** What the handler made of it, unless it is asked again with replies of the client. */
  void came(McpResult result) {
    end = result.error() ? ERROR : Activity.End.of(Activity.End.OK);
  }

  /** Does all that there is to do for the call. */
  CompletionStage<Result> ending(Supplier<CompletionStage<Result>> work) {
    if (activity == Activity.NONE) {
      return work.get();
    }
    CompletionStage<Result> answer;
    try {
      answer = work.get();
    } catch (RuntimeException e) {
      answer = CompletableFuture.failedFuture(e);
    }
    return answer.whenComplete((result, failure) -> activity.end(end(failure)));
  }

  private Activity.End end(@Nullable Throwable failure) {
    Activity.End came = end;
    if (failure != null) {
      return Activity.End.of(Activity.End.FAILED);
    }
    return came == null ? ASKED : came;
  }
}
