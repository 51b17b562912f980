package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.session.call.ToolReply;
import org.jspecify.annotations.Nullable;

/**
 * What a session waits for when a form is shown for it: everything that is needed to submit the
 * form, to any server of the same store. Pure.
 */
sealed interface FormPause permits RunPause, ApprovalPause {
  /** Reads what {@link #json} wrote. */
  static FormPause of(JsonNode json) {
    return json.has(ApprovalPause.THREAD) ? ApprovalPause.of(json) : RunPause.of(json);
  }

  ObjectNode json();

  /** The pause of the same session after a later call. */
  FormPause after(ToolReply reply);

  /**
   * The form for a reply; null if the model has to ask.
   *
   * @param submitted whether the call submitted a form
   */
  @Nullable McpAsk form(ToolReply reply, boolean submitted);

  /** The name of the form, which no earlier form of the session had. */
  String key();

  /** The values that were filled in; empty if the form was not submitted. */
  ObjectNode answers(JsonNode filled);

  /** The arguments of a call that submits answers; one without any only looks what is open. */
  ObjectNode arguments(ObjectNode answers);

  /** The {@code _meta} of a call that submits answers. */
  ObjectNode meta(ObjectNode ofRequest, ObjectNode answers);

  /** The {@code _meta} that goes with the form: enough for a client to continue without it. */
  ObjectNode meta(ToolReply reply);

  /** What a client should do if the form is no longer valid. */
  String repair();

  /** The reply to a call whose form was not filled in. */
  ToolReply unfilled(ToolReply reply, String why);
}
