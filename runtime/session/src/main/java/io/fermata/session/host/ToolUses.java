package io.fermata.session.host;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.json.Json;
import io.fermata.session.call.Arguments;
import io.fermata.session.call.Conversation;
import io.fermata.session.call.FlowTool;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.StreamSupport;

/** Translates calls of flow tools to calls of their flows, and their replies to outcomes. */
public final class ToolUses {
  /** The run continues by itself, or the call did not reach it. */
  private static final Set<String> UNFINISHED =
      Set.of(
          ErrorCode.RUN_ENDING.wireName(),
          HostError.STILL_WORKING.wireName(),
          HostError.BUSY.wireName(),
          HostError.OVERLOADED.wireName(),
          HostError.STORE_UNAVAILABLE.wireName(),
          HostError.SHUTTING_DOWN.wireName());

  /** The run stopped at a step that needs a decision from outside. */
  private static final Set<String> UNDECIDED =
      Set.of(ErrorCode.OUTCOME_UNKNOWN.wireName(), ErrorCode.COMPENSATION_FAILED.wireName());

  /** There is no run to end. */
  private static final Set<String> ENDED =
      Set.of(
          ErrorCode.UNKNOWN_RUN.wireName(),
          ErrorCode.RUN_COMPLETED.wireName(),
          ErrorCode.RUN_CANCELLED.wireName(),
          ErrorCode.RUN_FAILED.wireName());

  private final BiFunction<ToolCall, Consumer<ToolProgress>, CompletionStage<ToolReply>> calls;
  private final Map<String, FlowTool> tools;

  /**
   * @param calls calls a tool of the host
   */
  public ToolUses(
      BiFunction<ToolCall, Consumer<ToolProgress>, CompletionStage<ToolReply>> calls,
      Map<String, FlowTool> tools) {
    this.calls = calls;
    this.tools = tools;
  }

  public CompletionStage<ToolOutcome> start(
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
    return ended(use, send(use, call, named("start"), progress), progress);
  }

  public CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    ObjectNode call = Json.object().put("action", "continue");
    call.set("stateUpdates", answers);
    return ended(
        use,
        send(use, call, named("answer " + SessionKey.digest(answerId)), progress -> {}),
        progress -> {});
  }

  public CompletionStage<ToolOutcome> again(ToolUse use) {
    return goOn(use, progress -> {});
  }

  private CompletionStage<ToolOutcome> goOn(ToolUse use, Consumer<ToolProgress> progress) {
    ObjectNode call = Json.object().put("action", "continue");
    return ended(use, send(use, call, Json.object(), progress), progress);
  }

  public CompletionStage<ToolOutcome> resolve(ToolUse use, Input.Resolution resolution) {
    ObjectNode call = Json.object().put("action", "continue");
    ObjectNode meta =
        Json.object().put(Arguments.RESOLVE, resolution.name().toLowerCase(Locale.ROOT));
    return ended(use, send(use, call, meta, progress -> {}), progress -> {});
  }

  public CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    return send(use, Json.object().put("action", "cancel"), Json.object(), progress -> {})
        .thenApply(ToolUses::outcome);
  }

  private static ObjectNode named(String callId) {
    return Json.object().put(Arguments.CALL_ID, callId);
  }

  private CompletionStage<ToolReply> send(
      ToolUse use, ObjectNode arguments, ObjectNode meta, Consumer<ToolProgress> progress) {
    meta.put(Conversation.SESSION_ID, use.session());
    return calls.apply(new ToolCall(use.tool(), SessionKey.TOOLS, arguments, meta, null), progress);
  }

  /**
   * Continues a run that stopped at its visit limit, and ends one that failed, so that it does not
   * linger.
   */
  private CompletionStage<ToolOutcome> ended(
      ToolUse use, CompletionStage<ToolReply> reply, Consumer<ToolProgress> progress) {
    return reply.thenCompose(
        answered -> {
          String code = answered.structured().path("code").asText();
          if (code.equals(ErrorCode.VISIT_LIMIT.wireName())) {
            return goOn(use, progress);
          }
          ToolOutcome outcome = outcome(answered);
          boolean over = !answered.error() || ENDED.contains(code);
          return over || !(outcome instanceof ToolOutcome.Result)
              ? CompletableFuture.completedStage(outcome)
              : withdraw(use)
                  .thenApply(end -> end instanceof ToolOutcome.Undecided ? end : outcome);
        });
  }

  /** What went wrong, without what a client of the flow could do: a model cannot. */
  private static String cause(String code, String message) {
    for (ErrorCode known : ErrorCode.values()) {
      String repair = known.repair() + ".";
      if (known.wireName().equals(code) && message.endsWith(repair)) {
        return message.substring(0, message.length() - repair.length()).strip();
      }
    }
    return message;
  }

  private static ToolOutcome outcome(ToolReply reply) {
    ObjectNode body = reply.structured();
    String code = body.path("code").asText();
    return switch (body.path("status").asText()) {
      case OutcomeJson.WAITING ->
          new ToolOutcome.Waiting(body.path("waitsFor").asText(), body.path("until").textValue());
      case "interrupt", "widget" -> new ToolOutcome.Paused(body);
      case "complete" ->
          body.path("cancelled").asBoolean()
              ? new ToolOutcome.Result("The call was withdrawn.", true)
              : new ToolOutcome.Result(
                  body.path("result").path("text").asText(),
                  body.path("result").path("error").asBoolean(),
                  StreamSupport.stream(body.path("result").path("changes").spliterator(), false)
                      .toList());
      default -> {
        String message = cause(code, body.path("error").asText());
        if (UNDECIDED.contains(code)) {
          yield new ToolOutcome.Undecided(code, message);
        }
        if (body.has("question") || body.has("questions") || body.has("tool")) {
          yield new ToolOutcome.Paused(body);
        }
        yield UNFINISHED.contains(code)
            ? new ToolOutcome.Unfinished(code, message)
            : new ToolOutcome.Result(message, true);
      }
    };
  }
}
