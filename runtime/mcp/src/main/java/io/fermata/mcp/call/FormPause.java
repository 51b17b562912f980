package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The state of a run when a form was shown for it: everything that is needed to submit the form, to
 * any server of the same store. Pure.
 *
 * @param session the handle of its session; null if the client names the conversation itself
 * @param conversation the client's name of the conversation, if there is no handle
 * @param runId the run that asks
 * @param seq the position in the run's journal
 * @param asked the ids of the questions that the form asks, by field
 */
record FormPause(
    @Nullable String session,
    @Nullable String conversation,
    String runId,
    long seq,
    Map<String, String> asked) {
  private static final String SESSION = "fermata/sessionId";
  private static final String RUN = "fermata/run";
  private static final String ASKED = "fermata/asked";

  /** Keys that apply to one call only. */
  private static final Set<String> OF_ONE_CALL =
      Set.of("fermata/callId", "fermata/seq", ASKED, "fermata/resolve");

  FormPause {
    asked = Map.copyOf(asked);
  }

  /** The pause after a call, before a form is shown. */
  static FormPause of(ToolCall call, ToolReply reply) {
    String session = JsonRpcCodec.text(reply.structured(), "sessionId");
    return new FormPause(session, session == null ? call.conversation() : null, "", 0, Map.of())
        .after(reply);
  }

  /** Reads what {@link #json} wrote. */
  static FormPause of(JsonNode json) {
    Map<String, String> asked = new LinkedHashMap<>();
    json.path("asked")
        .properties()
        .forEach(name -> asked.put(name.getKey(), name.getValue().asText()));
    return new FormPause(
        JsonRpcCodec.text(json, "session"),
        JsonRpcCodec.text(json, "conversation"),
        json.path("runId").asText(),
        json.path("seq").asLong(),
        asked);
  }

  ObjectNode json() {
    ObjectNode json = Json.object().put("runId", runId).put("seq", seq);
    if (session != null) {
      json.put("session", session);
    } else if (conversation != null) {
      json.put("conversation", conversation);
    }
    return json.set("asked", tree(asked));
  }

  private static ObjectNode tree(Map<String, String> names) {
    ObjectNode tree = Json.object();
    names.forEach(tree::put);
    return tree;
  }

  /** The pause of the same session after a later call, before a form is shown. */
  FormPause after(ToolReply reply) {
    JsonNode run = reply.meta().path(RUN);
    return new FormPause(
        session, conversation, run.path("runId").asText(), run.path("seq").asLong(), Map.of());
  }

  /** The run that asks. */
  TaskRun run(ToolCall call) {
    return new TaskRun(call.principal(), call.tool(), runId);
  }

  /**
   * The same with the questions of a reply; null if one of them is no longer open.
   *
   * @param open the ids of the open questions, by field
   */
  @Nullable FormPause asking(ToolReply reply, Map<String, String> open) {
    Map<String, String> names = new LinkedHashMap<>();
    for (String field : ElicitationForms.asked(reply.structured())) {
      String name = open.get(field);
      if (name == null) {
        return null;
      }
      names.put(field, name);
    }
    return new FormPause(session, conversation, runId, seq, names);
  }

  /** The name of the form, which no earlier form of the run had. */
  String key() {
    return "answers-" + seq;
  }

  /**
   * The forms for a reply. An invalid call is reported to the model, unless it is an answer that
   * the user has to correct.
   *
   * @param submitted whether the call submitted a form
   */
  static ElicitationForms forms(ObjectNode body, boolean submitted) {
    boolean asks =
        switch (body.path("status").asText()) {
          case "interrupt" -> true;
          case "error" ->
              switch (body.path("code").asText()) {
                case "answer_rejected" -> true;
                case "invalid_updates" -> submitted;
                default -> false;
              };
          default -> false;
        };
    return asks && ofForm(body) ? ElicitationForms.of(body) : ElicitationForms.NONE;
  }

  /** Whether all violations are of fields that a form would ask for. */
  private static boolean ofForm(ObjectNode body) {
    Set<String> fields = ElicitationForms.asked(body);
    for (JsonNode violation : body.path("violations")) {
      String wrong = violation.path("field").asText();
      if (fields.stream().noneMatch(field -> (wrong + ".").startsWith(field + "."))) {
        return false;
      }
    }
    return true;
  }

  /** The values that were filled in for the fields that were asked; null for one left empty. */
  ObjectNode answers(JsonNode filled) {
    ObjectNode answers = Json.object();
    if (filled.path("action").asText().equals("accept")) {
      JsonNode content = filled.path("content");
      asked.keySet().forEach(field -> answers.set(field, content.get(field)));
    }
    return answers;
  }

  /** The arguments of a call that submits answers; one without any only looks what is open. */
  ObjectNode arguments(ObjectNode answers) {
    ObjectNode arguments = Json.object();
    if (answers.isEmpty()) {
      arguments.put("action", "status");
    } else {
      arguments.put("action", "continue").set("stateUpdates", answers);
    }
    return session == null ? arguments : arguments.put("sessionId", session);
  }

  /**
   * The {@code _meta} of a call that submits answers, which are valid for the asked questions only.
   */
  ObjectNode meta(ObjectNode ofRequest, ObjectNode answers) {
    ObjectNode meta = ofRequest.deepCopy();
    meta.remove(OF_ONE_CALL);
    if (conversation != null) {
      meta.put(SESSION, conversation);
    }
    if (!answers.isEmpty()) {
      ObjectNode answered = tree(asked);
      answered.retain(Set.copyOf(answers.properties().stream().map(Map.Entry::getKey).toList()));
      meta.putObject(ASKED).put("runId", runId).set("questions", answered);
    }
    return meta;
  }

  /** The {@code _meta} that goes with the form: enough for a client to continue without it. */
  ObjectNode meta(ToolReply reply) {
    ObjectNode meta = reply.meta().deepCopy();
    return session == null ? meta : meta.put(SESSION, session);
  }

  /** What a client should do if the form is no longer valid. */
  String repair() {
    return session == null
        ? "call with action continue, without updates, to see what the run waits for"
        : "call with action continue and the sessionId "
            + session
            + ", without updates, to see what the run waits for";
  }
}
