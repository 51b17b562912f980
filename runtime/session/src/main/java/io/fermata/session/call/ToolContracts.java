package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;

/** Describes a flow as a tool, so that a model can drive it without other documentation. */
public final class ToolContracts {
  private static final String PROTOCOL =
      """


      This tool runs a conversation that pauses for the user. Call {"action":"start","intent":"why \
      the user wants this","stateUpdates":{what the user has said}} once, and not again while the \
      run is open. Then read `status`. interrupt: ask the user `question`, or all `questions`, and \
      call {"action":"continue","stateUpdates":{"<field>":<answer>}}; an `optional` one may be \
      left out. widget: call the tool named in `tool` with `data`. complete: tell the user the \
      `result`. waiting, still_working, busy: tell the user and end your turn; do not poll. error: \
      do what `error` says. Further actions: reset (corrects earlier answers), status, cancel \
      (ends the run; that is complete, too, with `cancelled`). Send `sessionId` back in every call \
      if a result has one. Never invent an answer.""";

  private static final String INSTRUCTIONS =
      """
      ## Tools with `action`, `intent` and `stateUpdates`
      Each runs a conversation that pauses for the user. Call it again with each answer.

      Start: {"action":"start","intent":"why the user wants this","stateUpdates":{…}}. Put into \
      stateUpdates only what the user has already said; those questions are skipped. Never guess or \
      invent a value. Do not start again while a run is open: that ends it as abandoned. If it \
      happened, `context` has the answers of the abandoned run: send them with a continue.

      Read `status` in the result:
      - interrupt: ask the user `question` (or all of `questions`, in one message). `fieldSchema` \
      says what fits, `suggestions` are answers to offer, `context` is for you, not for the user. \
      Then call {"action":"continue","stateUpdates":{"<field>":<answer>}}, with `field` as it is \
      written there, dots included. Send only what the user has said. A question with `optional` \
      is put as well, but may stay without an answer: leave it out. If all are optional and the user \
      answers none, continue without stateUpdates. A `default` is what is taken then; do not send it.
      - widget: call the tool named in `tool` with `data`, and with `sessionId` if there is one. If \
      `interactive` is true, wait for the user's choice and continue with it as `field`, unless the \
      widget did so itself. If it has no `field`, a continue without stateUpdates confirms it: send \
      that only if the user agreed.
      - complete: the run is over. Tell the user the `result`; with `cancelled`, that it was cancelled; \
      with `violations`, which values were not used.
      - waiting: nothing is wrong and nothing is to be asked of the user. Tell them what \
      `description` says and end your turn. Do not poll.
      - error: `error` says what is wrong and what to do next. If it carries a question, ask that \
      again. With `code` still_working or busy nothing is wrong: tell the user, end your turn, and \
      call again when the user asks.

      If a result carries `sessionId`, send it back unchanged in every later call.

      Other actions:
      - reset: the user corrects an earlier answer; send the corrected fields in stateUpdates. Not \
      for the question that is open now.
      - status: shows where the run is; changes nothing.
      - cancel: ends the run for good and undoes what it can. The result is complete with \
      `cancelled`: true, and without `result`.
      - continue without stateUpdates: repeats a question that needs an answer, or tries a failed \
      step again.""";

  private ToolContracts() {}

  public static ToolContract of(Flow<?> flow) {
    return new ToolContract(
        flow.id(),
        flow.title(),
        flow.description() + PROTOCOL,
        input(flow),
        output(),
        flow.tasks(),
        flow.forms() ? ToolContract.Kind.FLOW_WITH_FORMS : ToolContract.Kind.FLOW,
        flow.hints(),
        INSTRUCTIONS);
  }

  public static ToolContract of(FlowTool job) {
    return new ToolContract(
        job.name(),
        job.flow().title(),
        job.description(),
        job.arguments().json(),
        Json.object(),
        job.flow().tasks(),
        ToolContract.Kind.JOB,
        job.flow().hints(),
        "");
  }

  private static ObjectNode input(Flow<?> flow) {
    ObjectNode schema = Json.object();
    schema.put("$schema", "https://json-schema.org/draft/2020-12/schema");
    schema.put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ObjectNode action = string(properties, "action", "What to do");
    CallAction.NAMES.forEach(action.putArray("enum")::add);
    string(properties, "intent", "Why the user wants this; required with start");
    ObjectNode updates = flow.answersSchema();
    properties.set("stateUpdates", updates.put("description", "What the user has said, by field"));
    string(properties, "sessionId", "The handle of an earlier result");
    schema.putArray("required").add("action");
    schema.put("additionalProperties", false);
    return schema;
  }

  private static ObjectNode string(ObjectNode properties, String name, String description) {
    return properties.putObject(name).put("type", "string").put("description", description);
  }

  /** Models read what results mean in the instructions, so only their common members are here. */
  private static ObjectNode output() {
    ObjectNode schema = Json.object().put("type", "object");
    ObjectNode properties = schema.putObject("properties");
    ArrayNode statuses = properties.putObject("status").putArray("enum");
    statuses.add("interrupt").add("widget").add("complete").add("waiting").add("error");
    properties.putObject("sessionId").put("type", "string");
    schema.putArray("required").add("status");
    return schema;
  }
}
