package io.fermata.mcp;

import io.fermata.session.TaskRun;
import io.fermata.session.TaskView;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolHost;
import io.fermata.session.ToolProgress;
import io.fermata.session.ToolReply;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** Calls flows, for clients that wait for the reply and for clients that accept tasks. */
final class FlowCalls {
  private final ToolHost host;
  private final TaskCalls tasks;
  private final ToolReplies replies;

  FlowCalls(ToolHost host, TaskCalls tasks, ToolReplies replies) {
    this.host = host;
    this.tasks = tasks;
    this.replies = replies;
  }

  CompletionStage<ToolReply> call(ToolCall call, Request request, Consumer<ToolProgress> listener) {
    return TaskCalls.declared(request)
        ? tasks.tasks().call(call, listener)
        : host.call(call, listener);
  }

  /** The names of the questions that a run asks now, by field. */
  CompletionStage<Map<String, String>> open(TaskRun run) {
    return tasks.tasks().view(run).thenApply(TaskView::asked);
  }

  /** The result of a call for the client. */
  Result told(ToolCall call, ToolReply reply, Request request) {
    return reply.task() && TaskCalls.declared(request)
        ? tasks.created(run(call, reply))
        : replies.result(call.tool(), reply, request.revision());
  }

  private static TaskRun run(ToolCall call, ToolReply reply) {
    String runId = reply.meta().path("fermata/run").path("runId").asText();
    return new TaskRun(call.principal(), call.tool(), runId);
  }
}
