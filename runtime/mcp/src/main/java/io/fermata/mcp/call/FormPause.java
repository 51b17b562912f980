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
 * @param conversation what the client named it, if there is no handle
 * @param runId the run that asks
 * @param seq the place in the run's journal
 * @param asked the very questions that the form is for: their names by field
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

  /** What is said of one call, and not of those that follow it. */
  private static final Set<String> OF_ONE_CALL =
      Set.of("fermata/callId", "fermata/seq", ASKED, "fermata/resolve");

  FormPause {
    asked = Map.copyOf(asked);
  }

  /** Where a run is after a call, before a form is shown for it. */
  static FormPause of(ToolCall call, ToolReply reply) {
    String session = JsonRpcCodec.text(reply.structured(), "sessionId");
    return new FormPause(session, session == null ? call.conversation() : null, "", 0, Map.of())
        .after(reply);
  }

  /** What was {@linkplain #json() written}. */
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

  /** Where the same session is after a later call, before a form is shown for it. */
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
   * The same for what a call came to that asks something; null if that is not asked any more.
   *
   * @param open the names of the questions that are open, by field
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

  /** The name of the form, which is never that of an earlier one of the run. */
  String key() {
    return "answers-" + seq;
  }

  /**
   * The forms for a reply. An invalid call is reported to the model, unless it is an answer that
   * the user has to correct.
   *
   * @param formed whether the call brought what a form was filled in with
   */
  static ElicitationForms forms(ObjectNode body, boolean formed) {
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
    return asks && ofForm(body) ? ElicitationForms.of(body) : ElicitationForms.NONE;
  }

  /** Whether all that is wrong is wrong with what a form would ask for. */
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

  /** What was filled in, as far as it was asked for. */
  ObjectNode answers(JsonNode filled) {
    ObjectNode answers = Json.object();
    if (filled.path("action").asText().equals("accept")) {
      JsonNode content = filled.path("content");
      asked.keySet().stream()
          .filter(content::has)
          .forEach(field -> answers.set(field, content.get(field)));
    }
    return answers;
  }

  /** The arguments of a call that brings answers. */
  ObjectNode arguments(ObjectNode answers) {
    ObjectNode arguments = Json.object().put("action", "continue");
    arguments.set("stateUpdates", answers);
    return session == null ? arguments : arguments.put("sessionId", session);
  }

  /**
   * The hints of a call that brings answers, which are good for what was asked and nothing else.
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
