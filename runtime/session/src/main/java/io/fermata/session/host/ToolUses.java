package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Outcome;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Json;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolOutcome;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.call.ToolUse;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Translates calls of flow tools to calls of their flows, and their replies to outcomes. */
public final class ToolUses {
  /** The run continues by itself. */
  private static final Set<String> WORKING =
      Set.of(ErrorCode.RUN_ENDING.wireName(), HostError.STILL_WORKING.wireName());

  /** The run stopped at a step that needs a decision from outside. */
  private static final Set<String> UNDECIDED =
      Set.of(ErrorCode.OUTCOME_UNKNOWN.wireName(), ErrorCode.COMPENSATION_FAILED.wireName());

  /** The run cannot continue by itself, and nobody can help it, so it is ended. */
  private static final Set<String> STOPPED =
      Stream.concat(
              Stream.of(ErrorCode.RUN_LIMIT, ErrorCode.BRANCH_CANCELLED),
              Stream.of(ErrorCode.values()).filter(ErrorCode::ofStep))
          .map(ErrorCode::wireName)
          .collect(Collectors.toUnmodifiableSet());

  /** There is no run to end. */
  private static final Set<String> ENDED =
      Set.of(
          ErrorCode.UNKNOWN_RUN.wireName(),
          ErrorCode.RUN_COMPLETED.wireName(),
          ErrorCode.RUN_CANCELLED.wireName(),
          ErrorCode.RUN_EXPIRED.wireName(),
          ErrorCode.RUN_FAILED.wireName());

  /** What a run asks, beside what its reply says. */
  private static final Set<String> QUESTIONS = Set.of("question", "questions", "tool");

  private final BiFunction<ToolCall, Consumer<ToolProgress>, CompletionStage<ToolReply>> calls;
  private final FlowCatalog catalog;
  private final Function<SessionKey, CompletionStage<SessionState<RunState>>> ends;

  /**
   * @param calls calls a tool of the host
   * @param ends reads how a run has ended in its journal
   */
  public ToolUses(
      BiFunction<ToolCall, Consumer<ToolProgress>, CompletionStage<ToolReply>> calls,
      FlowCatalog catalog,
      Function<SessionKey, CompletionStage<SessionState<RunState>>> ends) {
    this.calls = calls;
    this.catalog = catalog;
    this.ends = ends;
  }

  /** The session of a use, whose name is no handle, as it has a line break. */
  static SessionKey keyOf(ToolUse use) {
    return new SessionKey(SessionKey.TOOLS, use.tool(), SessionKey.CHOSEN + use.session());
  }

  /** Whether the host has a flow, so that the runs of its uses can be reached. */
  boolean has(String tool) {
    return catalog.has(tool);
  }

  public CompletionStage<ToolOutcome> start(
      ToolUse use, ObjectNode arguments, Consumer<ToolProgress> progress) {
    FlowTool tool = catalog.tools().get(use.tool());
    if (tool == null) {
      throw new IllegalArgumentException("There is no tool " + use.tool());
    }
    String wrong = tool.wrong(arguments);
    if (wrong != null) {
      return CompletableFuture.completedFuture(new ToolOutcome.Result(wrong, true));
    }
    ObjectNode call = Json.object().put("action", "start").put("intent", "called as a tool");
    call.set("stateUpdates", tool.arguments().meant(arguments));
    return ended(use, send(use, call, named("start"), progress), progress)
        .thenApply(outcome -> keyUsed(outcome, "callId", use.callId(), "use"));
  }

  public CompletionStage<ToolOutcome> answer(ToolUse use, String answerId, ObjectNode answers) {
    ObjectNode call = Json.object().put("action", "continue");
    call.set("stateUpdates", answers);
    return ended(
            use,
            send(use, call, named("answer " + SessionKey.digest(answerId)), progress -> {}),
            progress -> {})
        .thenApply(outcome -> keyUsed(outcome, "answerId", answerId, "answer"));
  }

  /** In the words of the caller, who knows nothing of the names that the calls have. */
  private static ToolOutcome keyUsed(ToolOutcome outcome, String id, String value, String what) {
    return outcome instanceof ToolOutcome.Refused refused
            && refused.code().equals(HostError.KEY_USED.wireName())
        ? new ToolOutcome.Refused(
            refused.code(),
            "The %s %s is that of another %s; nothing was done".formatted(id, value, what),
            "Send this %s with a new %s".formatted(what, id))
        : outcome;
  }

  public CompletionStage<ToolOutcome> again(ToolUse use) {
    return resume(use, progress -> {});
  }

  /**
   * The present outcome of a use. What its run asks counts as seen from here on, but is not passed,
   * and what has stopped is not tried again.
   */
  CompletionStage<ToolOutcome> look(ToolUse use) {
    return status(use).thenCompose(status -> seen(use, status));
  }

  /**
   * The same of a use that may not have begun: then it begins. Of one that has, neither the
   * arguments nor the tool are looked at, which a release may have changed since.
   *
   * @param start begins it
   */
  CompletionStage<ToolOutcome> repeat(ToolUse use, Supplier<CompletionStage<ToolOutcome>> start) {
    return status(use)
        .thenCompose(
            status ->
                code(status.structured()).equals(ErrorCode.UNKNOWN_RUN.wireName())
                    ? start.get()
                    : seen(use, status));
  }

  private CompletionStage<ToolReply> status(ToolUse use) {
    return send(use, Json.object().put("action", "status"), Json.object(), progress -> {});
  }

  private CompletionStage<ToolOutcome> seen(ToolUse use, ToolReply status) {
    // A status says more than an outcome does.
    ObjectNode body = status.structured();
    body.remove("run");
    String code = code(body);
    boolean stopped = asks(body) || UNDECIDED.contains(code) || STOPPED.contains(code);
    // Without a status nothing says what a continue would try again.
    boolean unseen = HostError.isTemporary(code) && !WORKING.contains(code);
    return status.error() && (stopped || unseen)
        ? ended(use, body, progress -> {})
        : asSeen(use, status.meta().path("fermata/run").path("seq"));
  }

  /** Waits for the outcome of what was at work; a step that has failed since is not tried again. */
  private CompletionStage<ToolOutcome> asSeen(ToolUse use, JsonNode seq) {
    ObjectNode call = Json.object().put("action", "continue");
    return send(use, call, Json.object().set(FlowCall.SEQ, seq), progress -> {})
        .thenCompose(
            reply ->
                code(reply.structured()).equals(HostError.STALE_CALL.wireName())
                    ? look(use)
                    : ended(use, reply.structured(), progress -> {}));
  }

  private CompletionStage<ToolOutcome> resume(ToolUse use, Consumer<ToolProgress> progress) {
    ObjectNode call = Json.object().put("action", "continue");
    return ended(use, send(use, call, Json.object(), progress), progress);
  }

  public CompletionStage<ToolOutcome> resolve(ToolUse use, Input.Resolution resolution) {
    ObjectNode call = Json.object().put("action", "continue");
    ObjectNode meta =
        Json.object().put(FlowCall.RESOLVE, resolution.name().toLowerCase(Locale.ROOT));
    return ended(use, send(use, call, meta, progress -> {}), progress -> {});
  }

  public CompletionStage<ToolOutcome> withdraw(ToolUse use) {
    // A run that was not withdrawn may ask on, but a withdrawal answers nothing.
    return send(use, Json.object().put("action", "cancel"), Json.object(), progress -> {})
        .thenApply(reply -> outcome(reply.structured().remove(QUESTIONS)));
  }

  private static ObjectNode named(String callId) {
    return Json.object().put(FlowCall.CALL_ID, callId);
  }

  private CompletionStage<ToolReply> send(
      ToolUse use, ObjectNode arguments, ObjectNode meta, Consumer<ToolProgress> progress) {
    meta.put(FlowCall.SESSION_ID, use.session());
    return calls
        .apply(new ToolCall(use.tool(), SessionKey.TOOLS, arguments, meta, null), progress)
        .thenCompose(
            reply ->
                code(reply.structured()).equals(HostError.REPLY_TOO_LARGE.wireName())
                    ? ends.apply(keyOf(use))
                        .thenApply(state -> replyAtEnd(state, reply))
                        .exceptionally(RunExplanations::failed)
                    : CompletableFuture.completedFuture(reply));
  }

  /** What a run that ended on another host replied, which is too large to be sent. */
  private static ToolReply replyAtEnd(SessionState<RunState> state, ToolReply tooLarge) {
    RunReply last = state.lastReply();
    Outcome unclaimed = state.unclaimed();
    if (last != null) {
      return new ToolReply((ObjectNode) last.body(), Json.object());
    }
    return unclaimed == null ? tooLarge : new ToolReply(OutcomeJson.body(unclaimed), Json.object());
  }

  /**
   * Continues a run that stopped at its visit limit, and ends one that failed, so that it does not
   * linger. A call that was refused leaves its run alone.
   */
  private CompletionStage<ToolOutcome> ended(
      ToolUse use, CompletionStage<ToolReply> reply, Consumer<ToolProgress> progress) {
    return reply.thenCompose(answered -> ended(use, answered.structured(), progress));
  }

  private CompletionStage<ToolOutcome> ended(
      ToolUse use, ObjectNode body, Consumer<ToolProgress> progress) {
    String code = code(body);
    if (code.equals(ErrorCode.VISIT_LIMIT.wireName())) {
      return resume(use, progress);
    }
    ToolOutcome outcome = outcome(body);
    return STOPPED.contains(code) && outcome instanceof ToolOutcome.Result
        ? withdraw(use).thenApply(end -> isTaken(end) ? outcome : end)
        : CompletableFuture.completedStage(outcome);
  }

  /** Whether a withdrawal was not refused: its run has ended, or ends by itself. */
  private static boolean isTaken(ToolOutcome end) {
    return end instanceof ToolOutcome.Result
        || end instanceof ToolOutcome.Waiting
        || (end instanceof ToolOutcome.Unfinished later && works(later));
  }

  /** Whether a run continues, as opposed to one that may not even have begun. */
  static boolean works(ToolOutcome.Unfinished later) {
    return WORKING.contains(later.code());
  }

  private static String code(ObjectNode body) {
    return body.path("code").asText();
  }

  private static boolean asks(ObjectNode body) {
    return QUESTIONS.stream().anyMatch(body::has);
  }

  private static ToolOutcome outcome(ObjectNode body) {
    String code = code(body);
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
                  body.path("result").path("changes").valueStream().toList());
      default -> {
        Explained why = Explained.of(code, body.path("error").asText());
        if (UNDECIDED.contains(code)) {
          yield new ToolOutcome.Undecided(code, why.cause());
        } else if (code.equals(HostError.KEY_USED.wireName())) {
          yield new ToolOutcome.Refused(code, why.cause(), why.repair());
        } else if (asks(body)) {
          yield new ToolOutcome.Paused(body);
        } else if (WORKING.contains(code) || HostError.isTemporary(code)) {
          yield new ToolOutcome.Unfinished(code, why.cause());
        }
        yield STOPPED.contains(code) || ENDED.contains(code)
            ? new ToolOutcome.Result(why.cause(), true)
            : new ToolOutcome.Refused(code, why.cause(), why.repair());
      }
    };
  }

  /**
   * The text of a failure.
   *
   * @param cause what went wrong; all that a model needs
   * @param repair what a client of the flow or an operator could do; may be empty
   */
  private record Explained(String cause, String repair) {
    static Explained of(String code, String text) {
      String repair = repair(code) + ".";
      return text.endsWith(repair)
          ? new Explained(text.substring(0, text.length() - repair.length()).strip(), repair)
          : new Explained(text, "");
    }

    private static String repair(String code) {
      for (ErrorCode known : ErrorCode.values()) {
        if (known.wireName().equals(code)) {
          return known.repair();
        }
      }
      for (HostError known : HostError.values()) {
        if (known.wireName().equals(code)) {
          return known.repair();
        }
      }
      return "";
    }
  }
}
