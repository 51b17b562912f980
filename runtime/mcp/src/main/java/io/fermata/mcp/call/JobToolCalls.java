package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpCall;
import io.fermata.mcp.feature.McpReply;
import io.fermata.mcp.protocol.McpRequest;
import io.fermata.mcp.protocol.OutboundQueue;
import io.fermata.mcp.protocol.RequestGate;
import io.fermata.mcp.rpc.Revision;
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Calls jobs: each call is a run of its own. A client that accepts tasks gets a task as soon as the
 * run has work to do; others wait for the result. What the run asks before that is asked within the
 * call.
 */
public final class JobToolCalls {
  private static final Executor SOON = CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS);

  /** What the run goes on after by itself. */
  private static final Set<String> GOING_ON =
      Set.of(
          HostError.STILL_WORKING.wireName(),
          ErrorCode.WAITING.wireName(),
          ErrorCode.RUN_ENDING.wireName(),
          ErrorCode.VISIT_LIMIT.wireName());

  private static final List<String> ASKING = List.of("question", "questions", "tool");

  private final ToolHost host;
  private final Tasks tasks;
  private final TaskMethods calls;
  private final ToolReplyJson replies;
  private final HandlerRunner plain;
  private final RequestGate gate;
  private final @Nullable Duration patience;

  /**
   * @param patience how long a client that takes no stream can wait; null for however long it takes
   */
  public JobToolCalls(
      ToolHost host,
      TaskMethods calls,
      ToolReplyJson replies,
      HandlerRunner plain,
      RequestGate gate,
      @Nullable Duration patience) {
    this.host = host;
    this.tasks = calls.tasks();
    this.calls = calls;
    this.replies = replies;
    this.plain = plain;
    this.gate = gate;
    this.patience = patience;
  }

  private static boolean asks(ToolReply reply) {
    return ASKING.stream().anyMatch(reply.structured()::has);
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  CompletionStage<RpcResult> call(ToolCall call, McpRequest request) {
    PendingRun begun = new PendingRun(request.revision());
    CompletionStage<RpcResult> answer =
        plain
            .run(
                request,
                "tools/call",
                call.tool(),
                call.arguments(),
                true,
                round -> new Round(named(call, request, round), request, round, begun).start())
            .whenComplete((result, failure) -> begun.finished(failure));
    CompletionStage<RpcResult> told = gate.orIfHandedBack(answer, begun::handedBack);
    told.whenComplete((result, failure) -> begun.replied());
    return told;
  }

  /** Who takes no task gets back to the run of its call by the name of that, or not at all. */
  private ToolCall named(ToolCall call, McpRequest request, McpCall round) {
    if (TaskMethods.declared(request) || call.meta().path(ToolReplyJson.CALL_ID).isTextual()) {
      return call;
    }
    JsonNode before = round.remembered();
    String callId = before == null ? host.handles().mint() : before.path("callId").asText();
    ObjectNode meta = call.meta().deepCopy().put(ToolReplyJson.CALL_ID, callId);
    return new ToolCall(
        call.tool(), call.principal(), call.arguments(), meta, call.transportSession());
  }

  /** The run that a call waits for, through all of its rounds. */
  private final class PendingRun {
    final long since = System.nanoTime();
    private final Revision revision;
    private @Nullable TaskRun run;
    private @Nullable String callId;
    private @Nullable CompletableFuture<TaskView> settled;
    private boolean asks;
    private boolean left;

    PendingRun(Revision revision) {
      this.revision = revision;
    }

    synchronized void started(TaskRun of, ToolCall call) {
      run = of;
      callId = call.meta().path(ToolReplyJson.CALL_ID).asText();
    }

    synchronized void asks() {
      asks = true;
    }

    synchronized void waits(CompletableFuture<TaskView> until) {
      settled = until;
    }

    /** A client that disconnects ends its run, unless it was told that the run goes on. */
    void abandon(TaskRun which) {
      synchronized (this) {
        if (left) {
          return;
        }
      }
      tasks.cancel(which);
    }

    /** A client that goes away from a question leaves nobody who knows of the run. */
    void finished(@Nullable Throwable failure) {
      TaskRun asking;
      synchronized (this) {
        asking = failure == null || !asks || revision.modern() ? null : run;
      }
      if (asking != null) {
        abandon(asking);
      }
    }

    /** Says that the run goes on; null if there is none yet. */
    synchronized @Nullable RpcResult handedBack() {
      if (run == null || callId == null) {
        return null;
      }
      left = true;
      return replies.handedBack(callId, run, revision);
    }

    /** The client has its result, and nobody waits for the run. */
    void replied() {
      CompletableFuture<TaskView> waiting;
      synchronized (this) {
        waiting = left ? settled : null;
      }
      if (waiting != null) {
        waiting.completeExceptionally(RpcException.interrupted());
      }
    }
  }

  /** A call in one of its rounds. */
  private final class Round {
    private final ToolCall call;
    private final McpRequest request;
    private final McpCall round;
    private final PendingRun begun;
    private final boolean takesTasks;

    Round(ToolCall call, McpRequest request, McpCall round, PendingRun begun) {
      this.call = call;
      this.request = request;
      this.round = round;
      this.begun = begun;
      this.takesTasks = TaskMethods.declared(request);
    }

    CompletionStage<RpcResult> start() {
      JsonNode before = round.remembered();
      if (before != null) {
        TaskRun run = run(before.path("runId").asText());
        return tasks.view(run).thenCompose(view -> settle(run, view));
      }
      CompletionStage<ToolReply> reply =
          takesTasks
              ? tasks.call(call, request.progressListener())
              : host.call(call, request.progressListener());
      return reply.thenCompose(this::replied);
    }

    private TaskRun run(String runId) {
      TaskRun run = new TaskRun(call.principal(), call.tool(), runId);
      if (!takesTasks) {
        begun.started(run, call);
      }
      return run;
    }

    private CompletionStage<RpcResult> replied(ToolReply reply) {
      String runId = reply.meta().path("fermata/run").path("runId").asText();
      if (runId.isEmpty() || !(asks(reply) || GOING_ON.contains(code(reply)))) {
        return now(replies.result(call.tool(), reply, request.revision()));
      }
      TaskRun run = run(runId);
      return reply.task() && takesTasks
          ? now(calls.created(run))
          : tasks.view(run).thenCompose(view -> settle(run, view));
    }

    private CompletionStage<RpcResult> settle(TaskRun run, TaskView view) {
      return switch (view.standing()) {
        case WORKING -> takesTasks ? now(calls.created(run)) : awaitRun(run);
        case STANDING -> asks(view.reply()) ? ask(run, view) : stopped(run, view.reply());
        case ENDED -> now(replies.result(call.tool(), view.reply(), request.revision()));
        case CANCELLED -> failed("The run was cancelled.");
        case EXPIRED -> throw RpcException.failed("The run waited for too long, and has expired.");
        case UNKNOWN -> throw RpcException.invalidParams("The run is over: make a new call.");
        case UNREACHABLE -> throw TaskMethods.unreachable(view.reply());
      };
    }

    private static RpcException tooLong() {
      return RpcException.failed(
          "This takes longer than a single answer can be waited for, and was ended: accept"
              + " text/event-stream, or tasks.");
    }

    private void poll(TaskRun run, CompletableFuture<TaskView> settled) {
      tasks
          .view(run)
          .thenAccept(
              view -> {
                if (TaskMethods.unavailable(view)) {
                  if (!settled.isDone()) {
                    SOON.execute(() -> poll(run, settled));
                  }
                } else if (view.standing() != TaskView.Standing.WORKING) {
                  settled.complete(view);
                }
              });
    }

    /** Who cannot look after the run has it end with the call. */
    private CompletionStage<RpcResult> awaitRun(TaskRun run) {
      CompletableFuture<TaskView> settled = new CompletableFuture<>();
      begun.waits(settled);
      Runnable look = () -> poll(run, settled);
      Runnable unwatch = tasks.watch(run, look);
      look.run();
      OutboundQueue way = request.progress();
      if (way != null) {
        way.keepAlive();
        way.onDisconnect(
            () -> {
              if (settled.completeExceptionally(RpcException.cancelled())) {
                begun.abandon(run);
              }
            });
      } else if (patience != null) {
        // The connection has been silent since the call arrived.
        long left = patience.toNanos() - (System.nanoTime() - begun.since);
        Executor late = CompletableFuture.delayedExecutor(left, TimeUnit.NANOSECONDS);
        late.execute(
            () -> {
              if (settled.completeExceptionally(tooLong())) {
                begun.abandon(run);
              }
            });
      }
      return settled
          .whenComplete((view, failure) -> unwatch.run())
          .thenCompose(view -> settle(run, view));
    }

    private CompletionStage<RpcResult> ask(TaskRun run, TaskView view) {
      ElicitationForms forms = TaskMethods.forms(view);
      if (!forms.supportedBy(request.capabilities())) {
        return ended(
            run,
            "The tool has to ask its user something that this client cannot show: use one that declares elicitation.");
      }
      round.remember(
          Map.of("runId", run.runId(), "callId", call.meta().path(ToolReplyJson.CALL_ID).asText()));
      begun.asks();
      Map<String, McpReply> asked = round.ask(forms.asks());
      ObjectNode responses = Json.object();
      asked.forEach((key, reply) -> responses.set(key, reply.json()));
      ElicitationForms.Filled filled = forms.filled(responses);
      return filled.answers().size() < asked.size()
          ? ended(run, "The user did not want to answer; the work was ended.")
          : answered(run, view, forms, filled.answers());
    }

    /** Nobody could go on with the run, so it ends with its call. */
    private CompletionStage<RpcResult> ended(TaskRun run, String why) {
      return tasks.cancel(run).thenCompose(done -> failed(why));
    }

    /** A run that has done much goes on; any other stands where only an operator can help. */
    private CompletionStage<RpcResult> stopped(TaskRun run, ToolReply reply) {
      return code(reply).equals(ErrorCode.VISIT_LIMIT.wireName())
          ? tasks
              .answer(run, Json.object(), Map.of())
              .thenCompose(taken -> tasks.view(run))
              .thenCompose(after -> settle(run, after))
          : now(replies.result(call.tool(), reply, request.revision()));
    }

    /** What fits its form may still not fit its field; then it is asked for again. */
    private CompletionStage<RpcResult> answered(
        TaskRun run, TaskView view, ElicitationForms forms, ObjectNode answers) {
      return tasks
          .answer(run, answers, view.asked())
          .thenCompose(
              taken -> {
                if (code(taken).equals("invalid_updates")) {
                  throw new UnansweredException(forms.asks());
                }
                return tasks.view(run).thenCompose(after -> settle(run, after));
              });
    }

    private CompletionStage<RpcResult> failed(String error) {
      return now(replies.error(error, request.revision()));
    }

    private CompletionStage<RpcResult> now(RpcResult result) {
      return CompletableFuture.completedFuture(result);
    }
  }
}
