package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolReply;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a run stood when a form was shown for it: all that is needed to bring back what was filled
 * in, by whatever server of the same store. Pure.
 *
 * @param session the handle of its session; null if the client names the conversation itself
 * @param conversation what the client named it, if there is no handle
 * @param seq the place in the run's journal
 * @param fields what was asked for
 */
record FormPause(
    @Nullable String session, @Nullable String conversation, long seq, Set<String> fields) {
  private static final String SESSION = "fermata/sessionId";
  private static final String RUN = "fermata/run";
  private static final String SEQ = "fermata/seq";

  /** What is said of one call, and not of those that follow it. */
  private static final Set<String> OF_ONE_CALL = Set.of("fermata/callId", SEQ, "fermata/resolve");

  static FormPause of(ToolCall call, ToolReply reply) {
    String session = Wire.text(reply.structured(), "sessionId");
    return new FormPause(
        session, session == null ? call.conversation() : null, seq(reply), fields(reply));
  }

  /** What was {@linkplain #json() written}. */
  static FormPause of(JsonNode json) {
    Set<String> fields = new LinkedHashSet<>();
    json.path("fields").forEach(field -> fields.add(field.asText()));
    return new FormPause(
        Wire.text(json, "session"),
        Wire.text(json, "conversation"),
        json.path("seq").asLong(),
        fields);
  }

  private static long seq(ToolReply reply) {
    return reply.meta().path(RUN).path("seq").asLong();
  }

  private static Set<String> fields(ToolReply reply) {
    return Forms.asked(reply.structured());
  }

  ObjectNode json() {
    ObjectNode json = Json.object().put("seq", seq);
    if (session != null) {
      json.put("session", session);
    } else if (conversation != null) {
      json.put("conversation", conversation);
    }
    ArrayNode asked = json.putArray("fields");
    fields.forEach(asked::add);
    return json;
  }

  /** The pause of the same run that a later call came to. */
  FormPause after(ToolReply reply) {
    return new FormPause(session, conversation, seq(reply), fields(reply));
  }

  /** The name of the form, which is never that of an earlier one of the run. */
  String key() {
    return "answers-" + seq;
  }

  /**
   * The forms of what a call came to. What is wrong with a call of the model's the model is told,
   * unless it is an answer that its user has to give anew.
   *
   * @param formed whether the call brought what a form was filled in with
   */
  Forms forms(ObjectNode body, boolean formed) {
    boolean asks =
        switch (body.path("status").asText()) {
          case "interrupt" -> true;
          case "error" ->
              switch (body.path("code").asText()) {
                case "answer_rejected" -> true;
                case "invalid_updates" -> formed;
                default -> false;
              };
          default -> false;
        };
    return asks && ofForm(body) ? Forms.of(body) : Forms.NONE;
  }

  /** Whether all that is wrong is wrong with what a form would ask for. */
  private boolean ofForm(ObjectNode body) {
    for (JsonNode violation : body.path("violations")) {
      String wrong = violation.path("field").asText();
      if (fields.stream().noneMatch(field -> (wrong + ".").startsWith(field + "."))) {
        return false;
      }
    }
    return true;
  }

  /** Whether the run, as a reply shows it, still waits for what was asked for. */
  boolean asksStill(ToolReply reply) {
    return fields(reply).containsAll(fields);
  }

  /** What was filled in, as far as it was asked for. */
  ObjectNode answers(JsonNode filled) {
    ObjectNode answers = Json.object();
    if (filled.path("action").asText().equals("accept")) {
      JsonNode content = filled.path("content");
      fields.stream().filter(content::has).forEach(field -> answers.set(field, content.get(field)));
    }
    return answers;
  }

  /** The arguments of a call that brings answers. */
  ObjectNode arguments(ObjectNode answers) {
    ObjectNode arguments = Json.object().put("action", "continue");
    arguments.set("stateUpdates", answers);
    return session == null ? arguments : arguments.put("sessionId", session);
  }

  /** The hints of a call that brings answers. */
  ObjectNode meta(ObjectNode ofRequest) {
    ObjectNode meta = ofRequest.deepCopy();
    meta.remove(OF_ONE_CALL);
    if (conversation != null) {
      meta.put(SESSION, conversation);
    }
    return meta.put(SEQ, seq);
  }

  /** What a client hears of the run beside the form: enough to go on without it. */
  ObjectNode meta(ToolReply reply) {
    ObjectNode meta = reply.meta().deepCopy();
    return session == null ? meta : meta.put(SESSION, session);
  }

  /** What to do where the form is not good any more. */
  String instead() {
    return session == null
        ? "call with action continue alone, which tells what the run waits for"
        : "call with action continue and the sessionId "
            + session
            + " alone, which tells what the run waits for";
  }
}
