package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Calls agents. A person decides about approvals: in a form of the client, which the model cannot
 * fill in, or outside the conversation. The model may pass decisions on only if the server says so.
 */
public final class AgentToolCalls {
  private static final String ELSEWHERE =
      "This client cannot ask its user for the approval, and you must not decide: tell the user that"
          + " it has to be decided outside this conversation, and call status later.";

  private final ToolHost host;
  private final TaskMethods tasks;
  private final FormToolCalls forms;
  private final boolean modelsMayApprove;

  public AgentToolCalls(
      ToolHost host, TaskMethods tasks, FormToolCalls forms, boolean modelsMayApprove) {
    this.host = host;
    this.tasks = tasks;
    this.forms = forms;
    this.modelsMayApprove = modelsMayApprove;
  }

  CompletionStage<RpcResult> call(ToolCall call, McpRequest request) {
    boolean decides =
        "answer".equals(call.arguments().path("action").textValue())
            && call.arguments().has("approved");
    if (FormToolCalls.reach(request) && ApprovalPause.supportedBy(request)) {
      return forms.call(decides ? status(call) : call, request, ApprovalPause::of);
    } else if (decides && !modelsMayApprove) {
      ToolReply refused = ToolReply.refused(HostError.NEEDS_PERSON);
      return CompletableFuture.completedFuture(tasks.result(call, refused, request));
    }
    return host.call(call, request.progressListener())
        .thenApply(reply -> tasks.result(call, modelsMayApprove ? reply : hinted(reply), request));
  }

  /** What the model says about the approval does not count: the user decides in the form. */
  private static ToolCall status(ToolCall answer) {
    ObjectNode arguments = answer.arguments().deepCopy();
    arguments.retain("threadId");
    return answer.with(arguments.put("action", "status"), answer.meta());
  }

  private static ToolReply hinted(ToolReply reply) {
    return ApprovalPause.open(reply).isMissingNode()
        ? reply
        : ApprovalPause.withHint(reply, ELSEWHERE);
  }
}
