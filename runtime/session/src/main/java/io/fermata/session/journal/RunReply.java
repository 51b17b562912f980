package io.fermata.session.journal;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;

/**
 * The reply to a call of a flow.
 *
 * @param body the structured object
 * @param run the {@code fermata/run} object of {@code _meta}
 * @param task whether the run is a task
 */
public record RunReply(
    JsonNode body, JsonNode run, @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean task)
    implements SessionReply {

  public RunReply(JsonNode body, JsonNode run) {
    this(body, run, false);
  }

  /** A reply without a run. */
  static RunReply of(ObjectNode body) {
    return new RunReply(body, Json.object());
  }

  public RunReply asTask(boolean handedOut) {
    return new RunReply(body, run, handedOut);
  }
}
