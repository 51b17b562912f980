package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.Tool;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.session.Fermata;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolContract;
import io.fermata.session.call.ToolContracts;
import io.fermata.session.call.ToolReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A flow and its display tools as an MCP client offers them to its model: the same names, texts and
 * schemas, and the same results.
 */
final class FlowTools {
  /** The agent, and its prompt. */
  static final String DRIVER = "driver";

  private static final Duration LONGEST = Duration.ofMinutes(2);
  private static final String PREFACE =
      "You are the assistant of a user and do what they ask with your tools.\n\n";

  private final Flow<?> flow;
  private final Set<String> runIds = new LinkedHashSet<>();
  private @Nullable Fermata host;
  private String status = "";

  FlowTools(Flow<?> flow) {
    this.flow = flow;
  }

  /** The names of the tools. */
  static Set<String> names(Flow<?> flow, List<DisplayTool> displays) {
    Set<String> names = new LinkedHashSet<>();
    names.add(flow.id());
    displays.forEach(display -> names.add(display.name()));
    return names;
  }

  Agent driver(Model model, List<DisplayTool> displays) {
    ToolContract contract = ToolContracts.of(flow);
    List<Tool> tools = new ArrayList<>();
    tools.add(
        Tool.of(
                contract.name(),
                contract.description(),
                ArgumentSchema.unchecked(contract.inputSchema()),
                (thread, arguments) -> call(arguments))
            .timeout(LONGEST));
    for (DisplayTool display : displays) {
      tools.add(
          Tool.of(
              display.name(),
              display.description(),
              ArgumentSchema.unchecked(display.inputSchema()),
              (thread, arguments) -> shown(display, arguments)));
    }
    return Agent.aiHuman(
        DRIVER, Prompt.of(DRIVER, model).text(PREFACE + contract.instructions()).tools(tools));
  }

  private static ToolResult shown(DisplayTool display, ObjectNode arguments) {
    return display.check(arguments).isEmpty()
        ? ToolResult.success(display.title() + " are shown to the user.")
        : ToolResult.error("The data does not fit: " + display.check(arguments));
  }

  synchronized void open(Fermata opened) {
    host = opened;
  }

  private synchronized @Nullable Fermata host() {
    return host;
  }

  private String call(ObjectNode arguments) throws InterruptedException {
    Fermata calls = host();
    if (calls == null) {
      throw new IllegalStateException("The host of the trial has not started");
    }
    ToolCall call = new ToolCall(flow.id(), TrialHost.PRINCIPAL, arguments, Json.object(), null);
    // Without a lock, with which a virtual thread would keep its carrier.
    ToolReply reply = Waiting.await(calls.call(call), LONGEST);
    replied(reply);
    return Json.text(reply.structured());
  }

  private synchronized void replied(ToolReply reply) {
    String runId = reply.meta().path("fermata/run").path("runId").asText();
    if (!runId.isEmpty()) {
      runIds.add(runId);
    }
    status = reply.structured().path("status").asText();
  }

  /** Whether the last call completed a run. */
  synchronized boolean completed() {
    return status.equals("complete");
  }

  /** The runs that were begun. */
  List<RunJournal> runs() throws InterruptedException {
    List<RunJournal> runs = new ArrayList<>();
    Fermata reads = host();
    for (String runId : runIds()) {
      if (reads != null) {
        runs.add(Waiting.await(reads.journals().run(flow.id(), runId).readWithSecrets()));
      }
    }
    return runs;
  }

  private synchronized List<String> runIds() {
    return List.copyOf(runIds);
  }
}
