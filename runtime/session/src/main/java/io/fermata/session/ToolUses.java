package io.fermata.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Carries the calls of flow tools as calls of their flows, and what comes of them back. */
final class ToolUses {
  private static final String PRINCIPAL = "fermata/tool";
  private static final Set<String> UNFINISHED =
      Set.of(
          "waiting",
          "still_working",
          "busy",
          "overloaded",
          "store_unavailable",
          "shutting_down",
          "run_ending");

  private final ToolHost host;
  private final Map<String, FlowTool> tools;

  ToolUses(ToolHost host, Map<String, FlowTool> tools) {
    this.host = host;
    this.tools = tools;
  }

  CompletionStage<ToolOutcome> start(
      ToolUse use, ObjectNode arguments, Consumer<ToolProgress> progress) {
    FlowTool tool = tools.get(use.tool());
    if (tool == null) {
      throw new IllegalArgumentException("There is no tool " + use.tool());
    }
    String wrong = tool.wrong(arguments);
    if (wrong != null) {
      return CompletableFuture.completedFuture(new ToolOutcome.Result(wrong, true));
    }
    ObjectNode call = Json.object().put("action", "start").put("intent", "called as a tool");
    call.set("stateUpdates", arguments);
    return ended(use, send(use, call, "start", progress));
  }

  CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    ObjectNode call = Json.object().put("action", "continue");
    call.set("stateUpdates", answers);
    return ended(use, send(use, call, "answer " + answerId, told -> {}));
  }

  CompletionStage<ToolOutcome> again(ToolUse use) {
    ObjectNode call = Json.object().put("action", "continue");
    return ended(use, send(use, call, null, told -> {}));
  }

  CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    return send(use, Json.object().put("action", "cancel"), null, told -> {})
        .thenApply(ToolUses::outcome);
  }

  private CompletionStage<ToolReply> send(
      ToolUse use, ObjectNode arguments, @Nullable String callId, Consumer<ToolProgress> progress) {
    ObjectNode meta = Json.object().put("fermata/sessionId", use.session());
    if (callId != null) {
      meta.put("fermata/callId", callId);
    }
    return host.call(new ToolCall(use.tool(), PRINCIPAL, arguments, meta, null), progress);
  }

  /** A run that nobody can help is ended with its call, so that nothing lingers. */
  private CompletionStage<ToolOutcome> ended(ToolUse use, CompletionStage<ToolReply> reply) {
    return reply.thenCompose(
        told -> {
          ToolOutcome outcome = outcome(told);
          boolean failed =
              outcome instanceof ToolOutcome.Result result
                  && result.error()
                  && told.error()
                  && !told.structured().path("code").asText().startsWith("run_");
          return failed
              ? withdraw(use).thenApply(withdrawn -> outcome)
              : CompletableFuture.completedStage(outcome);
        });
  }

  private static ToolOutcome outcome(ToolReply reply) {
    ObjectNode body = reply.structured();
    String code = body.path("code").asText();
    return switch (body.path("status").asText()) {
      case "interrupt", "widget" -> new ToolOutcome.Paused(body);
      case "complete" ->
          body.path("cancelled").asBoolean()
              ? new ToolOutcome.Result("The call was withdrawn.", true)
              : new ToolOutcome.Result(
                  body.path("result").path("text").asText(),
                  body.path("result").path("error").asBoolean());
      default -> {
        if (body.has("question") || body.has("questions") || body.has("tool")) {
          yield new ToolOutcome.Paused(body);
        }
        String message = body.path("error").asText();
        yield UNFINISHED.contains(code)
            ? new ToolOutcome.Unfinished(code, message)
            : new ToolOutcome.Result(message, true);
      }
    };
  }
}
