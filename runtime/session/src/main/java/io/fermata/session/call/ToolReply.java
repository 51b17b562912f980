package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.key.HostError;

/**
 * The answer to a call.
 *
 * @param structured the object with the status, as the contract has it
 * @param meta what belongs into the result's {@code _meta}
 * @param task whether the run goes on as a task of a caller who {@linkplain Tasks#call takes} one
 */
public record ToolReply(ObjectNode structured, ObjectNode meta, boolean task) {
  public ToolReply(ObjectNode structured, ObjectNode meta) {
    this(structured, meta, false);
  }

  /** The reply to a call that a host refuses. */
  public static ToolReply refused(HostError error) {
    return new ToolReply(OutcomeJson.body(error.failure()), Json.object());
  }

  /** As {@link #refused(HostError)}, with a message that says more. */
  public static ToolReply refused(HostError error, String message) {
    return new ToolReply(OutcomeJson.body(error.failure()).put("error", message), Json.object());
  }

  /** True exactly when the status is {@code error}. */
  public boolean error() {
    return "error".equals(structured.path("status").textValue());
  }
}
