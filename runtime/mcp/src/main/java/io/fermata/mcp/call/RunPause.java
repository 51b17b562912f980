package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.rpc.JsonRpcCodec;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The questions that a run waits for. Pure.
 *
 * @param session the handle of its session; null if the client names the conversation itself
 * @param conversation the client's name of the conversation, if there is no handle
 * @param runId the run that asks
 * @param seq the position in the run's journal
 * @param asked the ids of the questions that the form asks, by field
 */
record RunPause(
    @Nullable String session,
    @Nullable String conversation,
    String runId,
    long seq,
    Map<String, String> asked)
    implements FormPause {
  private static final String SESSION = "fermata/sessionId";
  private static final String RUN = "fermata/run";
  private static final String ASKED = "fermata/asked";

  /** Keys that apply to one call only. */
  private static final Set<String> OF_ONE_CALL =
      Set.of("fermata/callId", "fermata/seq", ASKED, "fermata/resolve");

  RunPause {
    asked = Map.copyOf(asked);
  }

  /** The pause after a call, before a form is shown. */
  static RunPause of(ToolCall call, ToolReply reply) {
    String session = JsonRpcCodec.text(reply.structured(), "sessionId");
    return new RunPause(session, session == null ? call.conversation() : null, "", 0, Map.of())
        .after(reply);
  }

  static RunPause of(JsonNode json) {
    Map<String, String> asked = new LinkedHashMap<>();
    json.path("asked")
        .properties()
        .forEach(name -> asked.put(name.getKey(), name.getValue().asText()));
    return new RunPause(
        JsonRpcCodec.text(json, "session"),
        JsonRpcCodec.text(json, "conversation"),
        json.path("runId").asText(),
        json.path("seq").asLong(),
        asked);
  }

  @Override
  public ObjectNode json() {
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

  @Override
  public RunPause after(ToolReply reply) {
    JsonNode run = reply.meta().path(RUN);
    return new RunPause(
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
  @Nullable RunPause asking(ToolReply reply, Map<String, String> open) {
    Map<String, String> names = new LinkedHashMap<>();
    for (String field : ElicitationForms.asked(reply.structured())) {
      String name = open.get(field);
      if (name == null) {
        return null;
      }
      names.put(field, name);
    }
    return new RunPause(session, conversation, runId, seq, names);
  }

  @Override
  public String key() {
    return "answers-" + seq;
  }

  /** An invalid call is reported to the model, unless it is an answer that the user corrects. */
  @Override
  public @Nullable McpAsk form(ToolReply reply, boolean submitted) {
    ObjectNode body = reply.structured();
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
    ElicitationForms forms =
        asks && ofForm(body) ? ElicitationForms.of(body) : ElicitationForms.NONE;
    return forms.isEmpty() ? null : forms.combined();
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

  /** The values by field; null for one left empty. */
  @Override
  public ObjectNode answers(JsonNode filled) {
    ObjectNode answers = Json.object();
    if (filled.path("action").asText().equals("accept")) {
      JsonNode content = filled.path("content");
      asked.keySet().forEach(field -> answers.set(field, content.get(field)));
    }
    return answers;
  }

  @Override
  public ObjectNode arguments(ObjectNode answers) {
    ObjectNode arguments = Json.object();
    if (answers.isEmpty()) {
      arguments.put("action", "status");
    } else {
      arguments.put("action", "continue").set("stateUpdates", answers);
    }
    return session == null ? arguments : arguments.put("sessionId", session);
  }

  /** The answers are valid for the asked questions only. */
  @Override
  public ObjectNode meta(ObjectNode ofRequest, ObjectNode answers) {
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

  @Override
  public ObjectNode meta(ToolReply reply) {
    ObjectNode meta = reply.meta().deepCopy();
    return session == null ? meta : meta.put(SESSION, session);
  }

  @Override
  public String repair() {
    return session == null
        ? "call with action continue, without updates, to see what the run waits for"
        : "call with action continue and the sessionId "
            + session
            + ", without updates, to see what the run waits for";
  }

  /** The ordinary interrupt, with a note that says why the model has to ask. */
  @Override
  public ToolReply unfilled(ToolReply reply, String why) {
    ObjectNode structured = reply.structured();
    if (reply.error() || !structured.path("status").asText().equals("interrupt")) {
      return reply;
    }
    String hint = why + " Ask in the conversation, unless the user does not want to answer.";
    String context = structured.path("context").asText();
    ObjectNode noted = structured.deepCopy();
    noted.put("context", context.isEmpty() ? hint : hint + "\n" + context);
    return new ToolReply(noted, reply.meta());
  }
}
