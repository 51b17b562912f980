package io.fermata.session.host;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Nearest;
import io.fermata.session.actor.Gateway;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.FlowCall;
import io.fermata.session.call.FlowCatalog;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Routes a tool call to the agent, job or flow of that name. */
public record CallRouter(
    FlowCatalog catalog,
    Map<String, AgentAsTool> agents,
    @Nullable RunExplanations explanations,
    Gateway gateway,
    Telemetry telemetry,
    BooleanSupplier closed) {
  private static final String INVALID_UPDATES = ErrorCode.INVALID_UPDATES.wireName();
  private static final String STILL_WORKING = HostError.STILL_WORKING.wireName();

  public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    ReplyMode mode = call.takesTask() ? catalog.replyMode(call.tool()) : ReplyMode.WAITS;
    return call(call, mode, progress);
  }

  /** A call that is replied to as soon as it is journaled, without a task. */
  public CompletionStage<ToolReply> start(ToolCall call) {
    return call(call, ReplyMode.STARTS, progress -> {});
  }

  private CompletionStage<ToolReply> call(
      ToolCall call, ReplyMode mode, Consumer<ToolProgress> progress) {
    AgentAsTool agent = agents.get(call.tool());
    RunExplanations explains = explains(call);
    if (agent == null && explains == null) {
      Set<String> known = new LinkedHashSet<>(agents.keySet());
      known.addAll(catalog.ids());
      require(call.tool(), known);
    }
    if (telemetry == Telemetry.NONE) {
      return routed(agent, call, mode, progress, TraceContext.NONE);
    }
    Telemetry.Kind kind =
        explains != null
            ? Telemetry.Kind.PLAIN
            : agent == null ? Telemetry.Kind.FLOW : Telemetry.Kind.AGENT;
    Activity activity =
        telemetry.called(new Telemetry.Call(call.tool(), kind, TraceContext.of(call.meta())));
    return routed(agent, call, mode, progress, activity.context())
        .whenComplete(
            (reply, thrown) ->
                activity.end(
                    reply == null ? Activity.End.of(Activity.End.FAILED) : end(mode, reply)));
  }

  /** That the run still works is no error of a call that was only to begin it. */
  private static Activity.End end(ReplyMode mode, ToolReply reply) {
    Activity.End end = Activity.End.of(reply);
    boolean begun = mode != ReplyMode.WAITS && STILL_WORKING.equals(end.code());
    return begun ? end.begun() : end;
  }

  private CompletionStage<ToolReply> routed(
      @Nullable AgentAsTool agent,
      ToolCall call,
      ReplyMode mode,
      Consumer<ToolProgress> progress,
      TraceContext trace) {
    if (agent != null) {
      return agent.call(call, progress, trace);
    }
    RunExplanations explains = explains(call);
    // What is at the door of a job is not for the run of an agent's tool, which may have become
    // one.
    FlowTool job =
        call.principal().equals(SessionKey.TOOLS) ? null : catalog.jobs().get(call.tool());
    String wrong = job == null ? null : job.wrong(call.arguments());
    if (wrong != null) {
      return CompletableFuture.completedFuture(
          ToolReply.refused(HostError.INVALID_ARGUMENTS, wrong));
    } else if (closed.getAsBoolean()) {
      return CompletableFuture.completedFuture(ToolReply.refused(HostError.SHUTTING_DOWN));
    } else if (explains != null) {
      return explains.call(call);
    }
    ToolCall sent = job == null ? call : begun(call, job.arguments().meant(call.arguments()));
    // Known before the call: hosts may agree on the version while the reply is under way.
    String newer = catalog.newerThanAgreed(call.tool());
    CompletionStage<ToolReply> replied = gateway.call(sent, mode, progress, trace);
    return newer == null ? replied : replied.thenApply(reply -> whileConfined(sent, reply, newer));
  }

  /** Answers for a version on which no run starts yet may be right when runs start on it. */
  private static ToolReply whileConfined(ToolCall call, ToolReply reply, String newer) {
    boolean refused =
        reply.error()
            && reply.structured().path("code").asText().equals(INVALID_UPDATES)
            && call.arguments().path("action").asText().equals(CallAction.START.wireName());
    return refused
        ? ToolReply.refused(
            HostError.ROLLING_OUT,
            "Not all hosts have %s yet. %s. The version that runs start on until then replies: %s"
                .formatted(
                    newer,
                    HostError.ROLLING_OUT.repair(),
                    reply.structured().path("error").asText()))
        : reply;
  }

  /** The start of a job, whose run has a session of its own; a repeated call reaches that. */
  private ToolCall begun(ToolCall call, ObjectNode updates) {
    ObjectNode start = Json.object().put("action", "start").put("intent", "called as a tool");
    start.set("stateUpdates", updates);
    ObjectNode meta = FlowCall.withoutConversation(call.meta());
    return new ToolCall(call.tool(), call.principal(), start, meta, null);
  }

  /** What explains runs, if that is the tool; null if not. */
  private @Nullable RunExplanations explains(ToolCall call) {
    return call.tool().equals(RunExplanations.NAME) ? explanations : null;
  }

  public void requireFlow(String flow) {
    require(Objects.requireNonNull(flow, "flow"), catalog.ids());
  }

  /**
   * @param known what may have been meant
   */
  private void require(String flow, Set<String> known) {
    if (!catalog.has(flow)) {
      throw new IllegalArgumentException(
          "There is no flow " + flow + Nearest.suggestion(flow, known));
    }
  }

  /** Replies to all waiting callers now. */
  public void handBack() {
    gateway.handBack();
    agents.values().forEach(AgentAsTool::handBack);
  }
}
