package io.fermata.session;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Brings the call of a tool to the agent, the job or the flow that is offered under its name. */
final class CallRouter {
  private final FlowCatalog catalog;
  private final Map<String, AgentTool> agents;
  private final Gateway gateway;
  private final Handles handles;
  private final Telemetry telemetry;
  private final BooleanSupplier closed;

  CallRouter(
      FlowCatalog catalog,
      Map<String, AgentTool> agents,
      Gateway gateway,
      Handles handles,
      Telemetry telemetry,
      BooleanSupplier closed) {
    this.catalog = catalog;
    this.agents = agents;
    this.gateway = gateway;
    this.handles = handles;
    this.telemetry = telemetry;
    this.closed = closed;
  }

  /** A call that is replied to when the run pauses or ends. */
  CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
    return call(call, ReplyMode.WAITS, progress);
  }

  CompletionStage<ToolReply> call(ToolCall call, ReplyMode mode, Consumer<ToolProgress> progress) {
    AgentTool agent = agents.get(call.tool());
    if (agent == null) {
      requireFlow(call.tool());
    }
    if (telemetry == Telemetry.NONE) {
      return routed(agent, call, mode, progress, TraceContext.NONE);
    }
    Telemetry.Kind kind = agent == null ? Telemetry.Kind.FLOW : Telemetry.Kind.AGENT;
    Activity activity =
        telemetry.called(new Telemetry.Call(call.tool(), kind, TraceContext.of(call.meta())));
    return routed(agent, call, mode, progress, activity.context())
        .whenComplete(
            (reply, thrown) ->
                activity.end(
                    reply == null ? Activity.End.of(Activity.End.FAILED) : Activity.End.of(reply)));
  }

  private CompletionStage<ToolReply> routed(
      @Nullable AgentTool agent,
      ToolCall call,
      ReplyMode mode,
      Consumer<ToolProgress> progress,
      TraceContext trace) {
    if (agent != null) {
      return agent.call(call, progress, trace);
    }
    FlowTool job = catalog.jobs().get(call.tool());
    String wrong = job == null ? null : job.wrong(call.arguments());
    if (wrong != null) {
      return CompletableFuture.completedFuture(ToolReply.refused(HostError.INVALID_ARGUMENTS, wrong));
    } else if (closed.getAsBoolean()) {
      return CompletableFuture.completedFuture(ToolReply.refused(HostError.SHUTTING_DOWN));
    }
    return gateway.call(job == null ? call : Jobs.begun(call, handles), mode, progress, trace);
  }

  void requireFlow(String flow) {
    if (!catalog.has(flow)) {
      throw new IllegalArgumentException("There is no flow " + flow);
    }
  }

  /** Lets no caller wait any longer. */
  void handBack() {
    gateway.handBack();
    agents.values().forEach(AgentTool::handBack);
  }
}
