package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;

/** Describes a flow as a tool, so that a model can drive it without other documentation. */
public final class ToolContracts {
  private static final String PROTOCOL =
      """


      ## How to use this tool
      It runs a conversation that pauses for the user. Call it again with each answer.

      Start: {"action":"start","intent":"why the user wants this","stateUpdates":{…}}. Put into \
      stateUpdates only what the user has already said; those questions are skipped. Never guess or \
      invent a value.

      Read `status` in the result:
      - interrupt: ask the user `question` (or all of `questions`, in one message). `fieldSchema` \
      says what fits, `suggestions` are answers to offer, `context` is for you, not for the user. \
      Then call {"action":"continue","stateUpdates":{"<field>":<answer>}}. Send only what the user \
      answered; further fields the user mentioned are welcome.
      - widget: call the tool named in `tool` with `data`, and with `sessionId` if there is one. If \
      `interactive` is true, wait for the user's choice and continue with it as `field`, unless the \
      widget did so itself; else continue as `description` says.
      - complete: tell the user the `result`.
      - waiting: nothing is wrong and nothing is to be asked; do as `description` says.
      - error: `error` says what is wrong and what to do next. If it carries a question, ask that \
      again. Nothing already answered is lost. With `code` still_working or busy nothing is \
      wrong: tell the user, end your turn, and call again when the user asks or the time has come. Do \
      not poll.

      If a result carries `sessionId`, send it back unchanged in every later call.

      Other actions:
      - reset: the user corrects an earlier answer; send the corrected fields in stateUpdates. Not \
      for the question that is open now.
      - status: shows where the run is; changes nothing.
      - cancel: ends the run.
      - continue without stateUpdates: repeats the open question, or tries a failed step again.""";

  private ToolContracts() {}

  public static ToolContract of(Flow<?> flow) {
    return new ToolContract(
        flow.id(),
        flow.title(),
        flow.description() + PROTOCOL,
        input(flow),
        output(),
        flow.tasks(),
        false,
        flow.forms());
  }

  public static ToolContract of(FlowTool job) {
    return new ToolContract(
        job.name(),
        job.flow().title(),
        job.description(),
        job.inputSchema(),
        Json.object(),
        job.flow().tasks(),
        true,
        false);
  }

  private static ObjectNode input(Flow<?> flow) {
    ObjectNode schema = Json.object();
    schema.put("$schema", "https://json-schema.org/draft/2020-12/schema");
    schema.put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ObjectNode action = string(properties, "action", "What to do");
    CallAction.NAMES.forEach(action.putArray("enum")::add);
    string(properties, "intent", "Why the user triggered this flow; required with action start");
    ObjectNode updates = flow.answersSchema();
    properties.set("stateUpdates", updates.put("description", "What the user has said, by field"));
    string(properties, "sessionId", "The handle that an earlier result carried, unchanged");
    schema.putArray("required").add("action");
    schema.put("additionalProperties", false);
    return schema;
  }

  private static ObjectNode string(ObjectNode properties, String name, String description) {
    return properties.putObject(name).put("type", "string").put("description", description);
  }

  private static ObjectNode output() {
    ObjectNode schema = Json.object();
    schema.put("$schema", "https://json-schema.org/draft/2020-12/schema");
    schema.put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ArrayNode statuses = string(properties, "status", "The outcome of the call").putArray("enum");
    statuses.add("interrupt").add("widget").add("complete").add("waiting").add("error");
    question(properties);
    ObjectNode questions = properties.putObject("questions").put("type", "array");
    ObjectNode item = questions.putObject("items").put("type", "object");
    question(item.putObject("properties"));
    item.putArray("required").add("question").add("field");
    item.put("additionalProperties", false);
    string(properties, "tool", "The display tool to call");
    properties.putObject("data").put("description", "What the display tool is given");
    string(properties, "description", "What to do with the widget, or while the run waits");
    string(properties, "waitsFor", "What the run waits for: time, or a signal by name");
    string(properties, "until", "When the run continues at the latest");
    properties.putObject("interactive").put("type", "boolean");
    properties.putObject("result").put("description", "What the flow returns");
    string(properties, "reason", "Why the flow ended early");
    string(properties, "code", "The stable name of what is wrong");
    string(properties, "error", "What is wrong and what to do next");
    violations(properties.putObject("violations"));
    properties.putObject("cancelled").put("type", "boolean");
    properties.putObject("run").put("type", "object");
    string(properties, "sessionId", "The handle to send back in later calls");
    schema.putArray("required").add("status");
    schema.put("additionalProperties", false);
    return schema;
  }

  private static void question(ObjectNode properties) {
    string(properties, "question", "What to ask the user");
    string(properties, "field", "The field that the answer goes to");
    properties.putObject("fieldSchema").put("type", "object");
    properties
        .putObject("suggestions")
        .put("type", "array")
        .putObject("items")
        .put("type", "string");
    string(properties, "context", "A hint for you; not for the user");
  }

  private static void violations(ObjectNode violations) {
    violations.put("type", "array");
    ObjectNode item = violations.putObject("items").put("type", "object");
    string(item.putObject("properties"), "field", "Which field");
    string(item.withObjectProperty("properties"), "message", "What is wrong with it");
  }
}
