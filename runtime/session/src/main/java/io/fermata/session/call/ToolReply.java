package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.key.HostError;

/**
 * The reply to a call.
 *
 * @param structured the object with the status
 * @param meta the {@code _meta} of the result
 * @param task whether the run continues as a task, for a caller that {@linkplain ToolCall#takesTask
 *     accepts} one
 */
public record ToolReply(ObjectNode structured, ObjectNode meta, boolean task) {
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

  /** True exactly when the status is {@code error}. */
  public boolean error() {
    return "error".equals(structured.path("status").textValue());
  }
}
