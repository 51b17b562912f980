package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpResult;
import io.fermata.mcp.protocol.ResultWriter;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.util.Set;
import java.util.stream.Collectors;

/** Replies of the host as results of tools: the object for flows, the text for jobs. */
public final class ToolReplyJson {
  static final String CALL_ID = "fermata/callId";
  static final String RUN = "fermata/run";

  private final ResultWriter results;
  private final Set<String> jobs;

  public ToolReplyJson(ToolHost host, ResultWriter results) {
    this.results = results;
    this.jobs =
        host.tools().stream()
            .filter(tool -> tool.kind() == ToolContract.Kind.JOB)
            .map(ToolContract::name)
            .collect(Collectors.toSet());
  }

  RpcResult result(String tool, ToolReply reply, Revision revision) {
    return jobs.contains(tool)
        ? results.ofTool(revision, job(reply))
        : results.ofTool(revision, reply);
  }

  RpcResult error(String text, Revision revision) {
    return results.ofTool(revision, McpResult.error(text));
  }

  /**
   * The result of a call whose job continues.
   *
   * @param why why the call does not wait for it any longer
   */
  RpcResult handedBack(String why, String callId, TaskRun run, Revision revision) {
    ObjectNode named = Json.object().put("runId", run.runId()).put("flow", run.tool());
    return results.ofTool(
        revision,
        McpResult.error(
                "%s; the work continues. Do not start it again: repeat the call with _meta {\"%s\": \"%s\"} to get its result."
                    .formatted(why, CALL_ID, callId))
            .meta(RUN, named)
            .meta(CALL_ID, Json.tree(callId)));
  }

  /** The result of a call whose job may have been started all the same. */
  RpcResult repeatable(String callId, HostError why, Revision revision) {
    return results.ofTool(
        revision,
        McpResult.error(
                "%s. If the job was started, it continues: repeat the call with _meta {\"%s\": \"%s\"}, which starts it only if it was not."
                    .formatted(why.cause(), CALL_ID, callId))
            .meta(CALL_ID, Json.tree(callId)));
  }

  private static McpResult job(ToolReply reply) {
    ObjectNode body = reply.structured();
    JsonNode result = body.path("result");
    McpResult toolResult =
        reply.error()
            ? McpResult.error(withoutRepair(body.path("error").asText()))
            : result.path("error").asBoolean()
                ? McpResult.error(result.path("text").asText())
                : McpResult.text(result.path("text").asText());
    JsonNode run = reply.meta().path(RUN);
    return run.isEmpty() ? toolResult : toolResult.meta(RUN, run);
  }

  /** Removes the advice for callers of flows, which a caller of a job cannot follow. */
  private static String withoutRepair(String error) {
    for (ErrorCode code : ErrorCode.values()) {
      String repair = " " + code.repair() + ".";
      if (error.endsWith(repair)) {
        return error.substring(0, error.length() - repair.length());
      }
    }
    return error;
  }
}
