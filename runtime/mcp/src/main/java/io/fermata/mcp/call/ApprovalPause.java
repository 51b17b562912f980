package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.session.call.ApprovalText;
import io.fermata.session.call.ToolReply;
import org.jspecify.annotations.Nullable;

/**
 * The approval that a thread of an agent waits for. Pure.
 *
 * @param thread the thread that asks
 * @param call the call to approve; empty if none is open
 */
record ApprovalPause(String thread, String call) implements FormPause {
  static final String THREAD = "threadId";

  private static final String META = "fermata/threadId";
  private static final String CALL = "call";
  private static final String APPROVED = "approved";
  private static final String REASON = "reason";

  /** A person who cannot see all arguments is not asked. */
  private static final int MAX_ARGUMENTS = 50;

  private static final McpAsk ANY = form("");

  /** The pause after a call of an agent. */
  static ApprovalPause of(ToolReply reply) {
    return new ApprovalPause(
        reply.structured().path(THREAD).asText(), open(reply).path(CALL).asText());
  }

  static ApprovalPause of(JsonNode json) {
    return new ApprovalPause(json.path(THREAD).asText(), json.path(CALL).asText());
  }

  /** Whether the client of a request can ask its user for approvals. */
  static boolean supportedBy(McpRequest request) {
    return ANY.supportedBy(request.capabilities(), request.revision());
  }

  /** The first approval that a reply asks for; missing if it asks for none. */
  static JsonNode open(ToolReply reply) {
    for (JsonNode question : reply.structured().path("questions")) {
      if (question.path("approval").asBoolean()) {
        return question;
      }
    }
    return MissingNode.getInstance();
  }

  @Override
  public ObjectNode json() {
    return Json.object().put(THREAD, thread).put(CALL, call);
  }

  @Override
  public ApprovalPause after(ToolReply reply) {
    return new ApprovalPause(thread, open(reply).path(CALL).asText());
  }

  @Override
  public @Nullable McpAsk form(ToolReply reply, boolean submitted) {
    JsonNode open = open(reply);
    boolean shown = open.at("/question/arguments").size() <= MAX_ARGUMENTS;
    return open.isMissingNode() || !shown
        ? null
        : form(ApprovalText.of(open.path("tool").asText(), open.path("question")));
  }

  private static McpAsk form(String message) {
    ObjectNode schema = Json.object().put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    properties.putObject(APPROVED).put("type", "boolean").put("title", "Approve");
    properties.putObject(REASON).put("type", "string").put("title", "Reason");
    schema.putArray("required").add(APPROVED);
    return McpAsk.uncheckedForm(message, schema);
  }

  @Override
  public String key() {
    return "approval-" + call;
  }

  @Override
  public ObjectNode answers(JsonNode filled) {
    ObjectNode answers = Json.object();
    JsonNode content = filled.path("content");
    if (filled.path("action").asText().equals("accept") && content.path(APPROVED).isBoolean()) {
      answers.set(APPROVED, content.get(APPROVED));
      String reason = content.path(REASON).asText();
      if (!reason.isBlank()) {
        answers.put(REASON, reason);
      }
    }
    return answers;
  }

  @Override
  public ObjectNode arguments(ObjectNode answers) {
    ObjectNode arguments = Json.object().put(THREAD, thread);
    return answers.isEmpty()
        ? arguments.put("action", "status")
        : arguments.put("action", "answer").put(CALL, call).setAll(answers);
  }

  @Override
  public ObjectNode meta(ObjectNode ofRequest, ObjectNode answers) {
    ObjectNode meta = ofRequest.deepCopy();
    meta.remove(ToolReplyJson.CALL_ID);
    return meta;
  }

  @Override
  public ObjectNode meta(ToolReply reply) {
    return reply.meta().deepCopy().put(META, thread);
  }

  @Override
  public String repair() {
    return "call with action status and the threadId " + thread + " to see what is asked";
  }

  @Override
  public ToolReply unfilled(ToolReply reply, String why) {
    return open(reply).isMissingNode()
        ? reply
        : withHint(
            reply, why + " Nothing is decided. The action answer shows the form for it again.");
  }

  /** The reply with one more hint for the model. */
  static ToolReply withHint(ToolReply reply, String hint) {
    ObjectNode structured = reply.structured().deepCopy();
    String known = structured.path("hint").asText();
    structured.put("hint", known.isEmpty() ? hint : hint + " " + known);
    return new ToolReply(structured, reply.meta(), reply.task());
  }
}
