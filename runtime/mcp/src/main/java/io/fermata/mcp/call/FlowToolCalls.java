package io.fermata.mcp.call;

import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

/** Calls flows, for clients that wait for the reply and for clients that accept tasks. */
public final class FlowToolCalls {
  private final ToolHost host;
  private final TaskMethods tasks;
  private final ResultWriter results;

  public FlowToolCalls(ToolHost host, TaskMethods tasks, ResultWriter results) {
    this.host = host;
    this.tasks = tasks;
    this.results = results;
  }

  CompletionStage<ToolReply> call(
      ToolCall call, McpRequest request, Consumer<ToolProgress> listener) {
    return TaskMethods.declared(request)
        ? tasks.tasks().call(call, listener)
        : host.call(call, listener);
  }

  /** The ids of the open questions of a run, by field. */
  CompletionStage<Map<String, String>> openQuestions(TaskRun run) {
    return tasks.tasks().view(run).thenApply(TaskView::asked);
  }

  /** The result of a call for the client. */
  RpcResult toResult(ToolCall call, ToolReply reply, McpRequest request) {
    return reply.task() && TaskMethods.declared(request)
        ? tasks.created(run(call, reply), reply)
        : results.ofTool(request.revision(), reply);
  }

  private static TaskRun run(ToolCall call, ToolReply reply) {
    String runId = reply.meta().path("fermata/run").path("runId").asText();
    return new TaskRun(call.principal(), call.tool(), runId);
  }
}
