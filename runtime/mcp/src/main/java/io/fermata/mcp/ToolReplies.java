package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Json;
import io.fermata.session.TaskRun;
import io.fermata.session.ToolContract;
import io.fermata.session.ToolHost;
import io.fermata.session.ToolReply;
import java.util.Set;
import java.util.stream.Collectors;

/** Replies of the host as results of tools: of flows the object, of jobs the text. */
final class ToolReplies {
  static final String CALL_ID = "fermata/callId";
  private static final String RUN = "fermata/run";

  private final Results results;
  private final Set<String> jobs;

  ToolReplies(ToolHost host, Results results) {
    this.results = results;
    this.jobs =
        host.tools().stream()
            .filter(ToolContract::job)
            .map(ToolContract::name)
            .collect(Collectors.toSet());
  }

  Result result(String tool, ToolReply reply, Revision revision) {
    if (jobs.contains(tool)) {
      return results.ofTool(revision, job(reply));
    }
    String json = Wire.json(reply.structured());
    return results.ofTool(revision, json, json, reply.error(), reply.meta());
  }

  Result error(String text, Revision revision) {
    return results.ofTool(revision, McpResult.error(text));
  }

  /** The result of a call whose job outlives the server. */
  Result handedBack(String callId, TaskRun run, Revision revision) {
    ObjectNode named = Json.object().put("runId", run.runId()).put("flow", run.tool());
    return results.ofTool(
        revision,
        McpResult.error(
                "The server is shutting down; the work goes on. Do not start it again: the same call"
                    + " with _meta {\"%s\": \"%s\"} gets its result.".formatted(CALL_ID, callId))
            .meta(RUN, named)
            .meta(CALL_ID, Json.tree(callId)));
  }

  private static McpResult job(ToolReply reply) {
    ObjectNode body = reply.structured();
    JsonNode result = body.path("result");
    McpResult told =
        reply.error()
            ? McpResult.error(withoutRepair(body.path("error").asText()))
            : result.path("error").asBoolean()
                ? McpResult.error(result.path("text").asText())
                : McpResult.text(result.path("text").asText());
    JsonNode run = reply.meta().path(RUN);
    return run.isEmpty() ? told : told.meta(RUN, run);
  }

  /** What a caller of a flow would do next, a caller of a job cannot. */
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
