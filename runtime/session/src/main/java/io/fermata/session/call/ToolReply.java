package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.key.HostError;
import org.jspecify.annotations.Nullable;

/**
 * The reply to a call. Its trees are the caller's own, who may change them.
 *
 * @param structured the object with the status
 * @param meta the {@code _meta} of the result
 * @param task whether the run continues as a task, for a caller that {@linkplain ToolCall#takesTask
 *     accepts} one
 */
public record ToolReply(ObjectNode structured, ObjectNode meta, boolean task) {
  private static final String FORBIDDEN = "forbidden";

  public ToolReply(ObjectNode structured, ObjectNode meta) {
    this(structured, meta, false);
  }

  /** The reply to a refused call. */
  public static ToolReply refused(HostError error) {
    return new ToolReply(OutcomeJson.body(error.failure()), Json.object());
  }

  /** As {@link #refused(HostError)}, with a more specific message. */
  public static ToolReply refused(HostError error, String message) {
    return new ToolReply(OutcomeJson.body(error.failure()).put("error", message), Json.object());
  }

  /** The reply to a caller who may not use the agent that a conversation was handed over to. */
  public static ToolReply unreachable(String agent) {
    ObjectNode body = Json.object().put("status", "error").put("code", FORBIDDEN);
    body.put(
        "error",
        "The caller may not use %s, which this thread was handed over to".formatted(agent));
    return new ToolReply(body.put("agent", agent), Json.object());
  }

  /** The agent because of which it is {@link #unreachable}; null if it is not. */
  public @Nullable String unreachableAgent() {
    return FORBIDDEN.equals(structured.path("code").textValue())
        ? structured.path("agent").textValue()
        : null;
  }

  /** True exactly when the status is {@code error}. */
  public boolean error() {
    return "error".equals(structured.path("status").textValue());
  }
}
