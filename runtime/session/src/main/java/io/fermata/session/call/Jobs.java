package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.key.Handles;

/** Turns the call of a job into the start of a run in a separate session. */
public final class Jobs {
  private Jobs() {}

  public static ToolCall begun(ToolCall call, Handles handles) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "called as a tool");
    start.set("stateUpdates", call.arguments());
    start.put("sessionId", session(call, handles));
    return new ToolCall(call.tool(), call.principal(), start, call.meta(), null);
  }

  /** A repeated call reaches the run that it started. */
  private static String session(ToolCall call, Handles handles) {
    JsonNode callId = call.meta().path(Arguments.CALL_ID);
    return callId.isTextual()
        ? handles.derive(
            "job\n"
                + call.principal().length()
                + "\n"
                + call.principal()
                + "\n"
                + call.tool()
                + "\n"
                + callId.textValue())
        : handles.mint();
  }
}
