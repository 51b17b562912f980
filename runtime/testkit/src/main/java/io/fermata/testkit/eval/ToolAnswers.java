package io.fermata.testkit.eval;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.FlowState;
import io.fermata.agent.Handoff;
import io.fermata.agent.Offered;
import io.fermata.agent.ScheduledHandler;
import io.fermata.agent.SubPrompt;
import io.fermata.agent.Tool;
import io.fermata.agent.ToolHandler;
import io.fermata.agent.message.ToolResult;
import io.fermata.agent.state.SourceResult;
import io.fermata.flow.json.Json;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What answers the calls of tools in one trial: the recording, else a handler of the evaluation.
 * Anything else ends the trial, as a tool is never performed by accident.
 */
final class ToolAnswers {
  private final Map<String, ToolHandler<ObjectNode>> handlers;
  private final Set<String> performed;
  private final @Nullable RecordedResults recorded;
  private final AtomicReference<@Nullable String> divergence = new AtomicReference<>();

  ToolAnswers(
      Map<String, ToolHandler<ObjectNode>> handlers,
      Set<String> performed,
      @Nullable RecordedResults recorded) {
    this.handlers = handlers;
    this.performed = performed;
    this.recorded = recorded;
  }

  /** Which call nothing answered; null if there was none. */
  @Nullable String divergence() {
    return divergence.get();
  }

  /**
   * An agent whose tools are answered here and whose deferred work does nothing. Flows and
   * sub-agents become plain tools, as nothing of them is to run; sub-prompts and handovers stay.
   */
  Agent of(Agent agent) {
    return agent
        .withPrompts(prompt -> prompt.withTools(this::answered))
        .withEffects(
            effect -> ScheduledHandler.of(effect.name(), effect.description(), (flow, args) -> {}));
  }

  private Offered answered(Offered tool) {
    if (tool instanceof SubPrompt || tool instanceof Handoff) {
      return tool;
    }
    Tool plain =
        Tool.of(
            tool.name(),
            tool.description(),
            tool.arguments(),
            (flow, args) -> answer(tool, flow, args));
    return tool instanceof Tool own ? plain.timeout(own.policy().timeout()) : plain;
  }

  private @Nullable Object answer(Offered tool, FlowState flow, ObjectNode arguments)
      throws Exception {
    if (recorded != null) {
      SourceResult.Work known = recorded.next(tool, arguments);
      if (known != null) {
        recorded.repeat(known, flow);
        return known.returned();
      }
    }
    ToolHandler<ObjectNode> handler = handlers.get(tool.name());
    if (handler != null) {
      return handler.run(flow, arguments);
    } else if (tool instanceof Tool own && performed.contains(tool.name())) {
      return own.handler().run(flow, arguments);
    }
    divergence.compareAndSet(
        null,
        "%s %s was called; %s no handler is given for it"
            .formatted(
                tool.name(),
                Json.text(arguments),
                recorded == null ? "" : "the recording has no such call, and")
            .replace("  ", " "));
    flow.stop("diverged");
    return ToolResult.error("diverged", "The evaluation has no result for this call");
  }
}
