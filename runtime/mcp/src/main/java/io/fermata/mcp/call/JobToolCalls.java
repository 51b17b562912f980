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
import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.rpc.RpcResult;
import io.fermata.session.ToolHost;
import io.fermata.session.call.OutcomeJson;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.Tasks;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.HostError;
import io.fermata.session.key.RootCauses;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Calls jobs: each call starts a run. A client that accepts tasks gets a task as soon as the run
 * has work to do; others wait for the result. Questions before that are asked within the call.
 */
public final class JobToolCalls {
  private static final Executor RETRY = CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS);

  private static final List<String> ASKING = List.of("question", "questions", "tool");

  private final ToolHost host;
  private final Tasks tasks;
  private final TaskMethods taskMethods;
  private final ToolReplyJson replies;
  private final HandlerRunner runner;
  private final RequestGate gate;
  private final @Nullable Duration timeout;

  /**
   * @param timeout how long a client without a stream can wait; null for no limit
   */
  public JobToolCalls(
      ToolHost host,
      TaskMethods taskMethods,
      ToolReplyJson replies,
      HandlerRunner runner,
      RequestGate gate,
      @Nullable Duration timeout) {
    this.host = host;
    this.tasks = taskMethods.tasks();
    this.taskMethods = taskMethods;
    this.replies = replies;
    this.runner = runner;
    this.gate = gate;
    this.timeout = timeout;
  }

  private static boolean asks(ToolReply reply) {
    return ASKING.stream().anyMatch(reply.structured()::has);
  }

  private static String code(ToolReply reply) {
    return reply.structured().path("code").asText();
  }

  CompletionStage<RpcResult> call(ToolCall call, McpRequest request) {
    PendingRun pending = new PendingRun(request);
    CompletionStage<RpcResult> answer =
        runner
            .run(
                request,
                "tools/call",
                call.tool(),
                call.arguments(),
                true,
                round -> new Round(call, request, round, pending).start())
            .whenComplete((result, failure) -> pending.finished(failure));
    CompletionStage<RpcResult> reply = gate.orIfHandedBack(answer, pending::handedBack);
    reply.whenComplete((result, failure) -> pending.replied());
    return reply;
  }

  /**
   * Gives the call an id, by which a client that was given no task finds its run again: that of the
   * round which began the run. What is no id is left for the host to refuse.
   */
  private ToolCall withCallId(ToolCall call, @Nullable JsonNode before) {
    if (before == null && isNamed(call)) {
      return call;
    }
    String callId = before == null ? host.handles().mint() : before.path("callId").asText();
    ObjectNode meta = call.meta().deepCopy().put(ToolReplyJson.CALL_ID, callId);
    return call.with(call.arguments(), meta);
  }

  private static boolean isNamed(ToolCall call) {
    return call.meta().hasNonNull(ToolReplyJson.CALL_ID);
  }

  /** Cancels a run, and repeats that while it is refused for now and nobody sets the reply. */
  private void cancel(TaskRun run, CompletableFuture<ToolReply> reply) {
    if (reply.isDone()) {
      return;
    }
    tasks
        .cancel(run)
        .whenComplete(
            (done, failure) -> {
              if (failure != null) {
                reply.completeExceptionally(failure);
              } else if (HostError.isTemporary(code(done))) {
                RETRY.execute(() -> cancel(run, reply));
              } else {
                reply.complete(done);
              }
            });
  }

  /** The run that a call waits for, through all of its rounds. */
  private final class PendingRun {
    final long since = System.nanoTime();
    private final McpRequest request;
    private final List<CompletableFuture<?>> waiting = new ArrayList<>(1);
    private @Nullable TaskRun run;
    private @Nullable String callId;
    private @Nullable CompletableFuture<ToolReply> cancelled;
    private boolean named;
    private boolean asks;
    private boolean detached;

    PendingRun(McpRequest request) {
      this.request = request;
    }

    /**
     * @param byClient whether the client named its call, and so may repeat it
     */
    synchronized void started(TaskRun of, String id, boolean byClient) {
      run = of;
      callId = id;
      named = byClient;
    }

    synchronized void asks() {
      asks = true;
    }

    synchronized void waits(CompletableFuture<TaskView> until) {
      waiting.add(until);
    }

    /** From here on, the reply to the client says that the run continues. */
    synchronized void detach() {
      detached = true;
    }

    /** Cancels the run; the stage fails if the reply says that it continues. */
    CompletionStage<ToolReply> cancel(TaskRun which) {
      CompletableFuture<ToolReply> reply = new CompletableFuture<>();
      synchronized (this) {
        if (cancelled != null) {
          return cancelled;
        } else if (detached) {
          return CompletableFuture.failedFuture(RpcException.interrupted());
        }
        cancelled = reply;
        waiting.add(reply);
      }
      JobToolCalls.this.cancel(which, reply);
      gate.hold(reply);
      return reply;
    }

    /**
     * Cancels the run because its client does not wait any longer; of a client that can come back,
     * only if it says so.
     */
    void abandon(TaskRun which) {
      synchronized (this) {
        if (named && !request.cancelled()) {
          return;
        }
      }
      cancel(which);
    }

    /** Cancels a run that was abandoned at a question, because nobody else knows of it. */
    void finished(@Nullable Throwable failure) {
      TaskRun asking;
      synchronized (this) {
        asking = failure == null || !asks || request.revision().modern() ? null : run;
      }
      if (asking != null) {
        abandon(asking);
      }
    }

    /** The reply that says that the run continues; null if there is no run yet. */
    synchronized @Nullable RpcResult handedBack() {
      if (run == null || callId == null) {
        return null;
      }
      detach();
      return replies.handedBack("The server is shutting down", callId, run, request.revision());
    }

    /** The client has its reply, so nothing waits for the run any more. */
    void replied() {
      List<CompletableFuture<?>> left;
      synchronized (this) {
        left = detached ? List.copyOf(waiting) : List.of();
      }
      left.forEach(each -> each.completeExceptionally(RpcException.interrupted()));
    }
  }

  /** One round of a call. */
  private final class Round {
    private final ToolCall call;
    private final McpRequest request;
    private final McpCall round;
    private final PendingRun pending;

    /** Whether the client named its call, now or in an earlier round. */
    private final boolean named;

    Round(ToolCall call, McpRequest request, McpCall round, PendingRun pending) {
      JsonNode before = round.remembered();
      this.named = isNamed(call) || (before != null && before.path("named").asBoolean());
      this.call = withCallId(call, before);
      this.request = request;
      this.round = round;
      this.pending = pending;
    }

    CompletionStage<RpcResult> start() {
      JsonNode before = round.remembered();
      if (before != null) {
        return look(run(before.path("runId").asText()));
      }
      return host.call(call, request.progressListener()).thenCompose(this::replied);
    }

    private TaskRun run(String runId) {
      TaskRun run = new TaskRun(call.principal(), call.tool(), runId);
      if (!call.takesTask()) {
        pending.started(run, callId(), named);
      }
      return run;
    }

    private String callId() {
      return call.meta().path(ToolReplyJson.CALL_ID).asText();
    }

    private CompletionStage<RpcResult> replied(ToolReply reply) {
      HostError why = HostError.named(code(reply));
      if (why != null && HostError.isTemporary(why.wireName())) {
        return now(replies.repeatable(callId(), why, request.revision()));
      }
      String runId = reply.meta().path("fermata/run").path("runId").asText();
      // The run that has a key is not that of the request which is refused because of it.
      if (why == HostError.KEY_USED
          || runId.isEmpty()
          || !(asks(reply)
              || OutcomeJson.waits(reply.structured())
              || TaskMethods.CONTINUES.contains(code(reply)))) {
        return now(replies.result(call.tool(), reply, request.revision()));
      }
      TaskRun run = run(runId);
      return reply.task() && call.takesTask() ? now(taskMethods.created(run, reply)) : look(run);
    }

    private CompletionStage<RpcResult> look(TaskRun run) {
      return tasks.view(run).thenCompose(view -> settle(run, view));
    }

    private CompletionStage<RpcResult> settle(TaskRun run, TaskView view) {
      return switch (view.status()) {
        case WORKING -> continues(run, view.reply());
        case INPUT_REQUIRED -> asks(view.reply()) ? ask(run, view) : stopped(run, view.reply());
        case ENDED -> now(replies.result(call.tool(), view.reply(), request.revision()));
        case CANCELLED -> failed("The run was cancelled.");
        case EXPIRED ->
            throw RpcException.failed(
                "The run waited for too long and has expired: make a new call.");
        case UNKNOWN -> throw RpcException.invalidParams("The run has ended: make a new call.");
        case UNREACHABLE -> {
          if (!TaskMethods.unavailable(view)) {
            throw TaskMethods.unreachable(view.reply());
          }
          yield continues(run, view.reply());
        }
      };
    }

    /** The run is journaled, so nothing makes its client call again. */
    private CompletionStage<RpcResult> continues(TaskRun run, ToolReply reply) {
      return call.takesTask() ? now(taskMethods.created(run, reply)) : awaitRun(run, Runnable::run);
    }

    private void poll(TaskRun run, CompletableFuture<TaskView> settled) {
      tasks
          .view(run)
          .thenAccept(
              view -> {
                if (TaskMethods.unavailable(view)) {
                  if (!settled.isDone()) {
                    RETRY.execute(() -> poll(run, settled));
                  }
                } else if (view.status() != TaskView.Status.WORKING) {
                  settled.complete(view);
                }
              });
    }

    private void follow(TaskRun run, CompletableFuture<TaskView> settled) {
      Runnable look = () -> poll(run, settled);
      Runnable unwatch = tasks.watch(run, look);
      CompletionStage<TaskView> end = settled;
      end.whenComplete((view, failure) -> unwatch.run());
      look.run();
    }

    /**
     * Waits for the run for as long as the client can.
     *
     * @param start begins to look at the run
     */
    private CompletionStage<RpcResult> awaitRun(TaskRun run, Executor start) {
      CompletableFuture<TaskView> settled = new CompletableFuture<>();
      pending.waits(settled);
      start.execute(() -> follow(run, settled));
      request.onCancel(
          () -> {
            if (settled.completeExceptionally(RpcException.cancelled())) {
              pending.abandon(run);
            }
          });
      OutboundQueue queue = request.progress();
      if (queue != null) {
        queue.keepAlive();
      } else if (timeout != null) {
        settled.orTimeout(left(timeout), TimeUnit.NANOSECONDS);
      }
      return settled
          .handle((view, failure) -> view == null ? unsettled(run, failure) : settle(run, view))
          .thenCompose(next -> next);
    }

    /** The nanoseconds until the connection has been silent for a time, since the call arrived. */
    private long left(Duration time) {
      return time.toNanos() - (System.nanoTime() - pending.since);
    }

    private CompletionStage<RpcResult> unsettled(TaskRun run, @Nullable Throwable failure) {
      Throwable cause = RootCauses.of(Objects.requireNonNull(failure));
      if (!(cause instanceof TimeoutException)) {
        return CompletableFuture.failedFuture(cause);
      }
      if (named) {
        return handedBack(run, "The job takes longer than a client without a stream can wait");
      }
      return cancelled(
          run,
          () -> {
            throw RpcException.failed(
                "The job was cancelled because it took longer than a client without a stream can"
                    + " wait: accept text/event-stream, or declare tasks.");
          });
    }

    private CompletionStage<RpcResult> handedBack(TaskRun run, String why) {
      pending.detach();
      return now(replies.handedBack(why, callId(), run, request.revision()));
    }

    /** Cancels the run and then replies; as long as that is refused for now, the client waits. */
    private CompletionStage<RpcResult> cancelled(TaskRun run, Supplier<RpcResult> then) {
      CompletableFuture<ToolReply> reply = pending.cancel(run).toCompletableFuture().copy();
      request.onCancel(() -> reply.completeExceptionally(RpcException.cancelled()));
      OutboundQueue queue = request.progress();
      if (queue != null) {
        RETRY.execute(
            () -> {
              if (!reply.isDone()) {
                queue.keepAlive();
              }
            });
      } else if (timeout != null) {
        // Of what the connection lasts beyond the timeout, the rest is for the reply.
        Duration longer = timeout.plus(timeout.dividedBy(10));
        reply.orTimeout(left(longer), TimeUnit.NANOSECONDS);
      }
      return reply
          .handle(
              (done, failure) ->
                  done == null
                      ? uncancelled(run, failure)
                      : TaskMethods.isRefused(done) ? refused(run, done) : now(then.get()))
          .thenCompose(next -> next);
    }

    private CompletionStage<RpcResult> uncancelled(TaskRun run, @Nullable Throwable failure) {
      Throwable cause = RootCauses.of(Objects.requireNonNull(failure));
      return cause instanceof TimeoutException
          ? handedBack(run, "The job cannot be cancelled for now")
          : CompletableFuture.failedFuture(cause);
    }

    /** A run that has ended cannot be cancelled, nor can one that nobody could compensate. */
    private CompletionStage<RpcResult> refused(TaskRun run, ToolReply refusal) {
      return tasks
          .view(run)
          .thenApply(
              view ->
                  replies.result(
                      call.tool(),
                      view.status() == TaskView.Status.ENDED ? view.reply() : refusal,
                      request.revision()));
    }

    private CompletionStage<RpcResult> ask(TaskRun run, TaskView view) {
      ElicitationForms forms = TaskMethods.shown(view, request);
      if (forms.isEmpty()) {
        return ended(
            run,
            "The tool has to ask its user a question that this client cannot show: "
                + TaskMethods.unshown(view, request));
      }
      round.remember(Map.of("runId", run.runId(), "callId", callId(), "named", named));
      pending.asks();
      Map<String, McpReply> asked = round.ask(forms.asks());
      ObjectNode responses = Json.object();
      asked.forEach((key, reply) -> responses.set(key, reply.json()));
      ElicitationForms.Filled filled = forms.filled(responses);
      return filled.answers().size() < asked.size()
          ? ended(run, "The user did not want to answer, so the job was cancelled.")
          : answered(run, view, forms, filled.answers());
    }

    /** Cancels the run, because nobody else could continue it. */
    private CompletionStage<RpcResult> ended(TaskRun run, String why) {
      return cancelled(run, () -> replies.error(why, request.revision()));
    }

    /** A run at its visit limit continues; any other stopped run needs an operator. */
    private CompletionStage<RpcResult> stopped(TaskRun run, ToolReply reply) {
      return isAtLimit(reply)
          ? tasks
              .answer(run, Json.object(), Map.of())
              .thenCompose(
                  taken ->
                      settle(
                          run,
                          taken,
                          now -> TaskMethods.isRefused(taken) && isAtLimit(now.reply())))
          : now(replies.result(call.tool(), reply, request.revision()));
    }

    private static boolean isAtLimit(ToolReply reply) {
      return code(reply).equals(ErrorCode.VISIT_LIMIT.wireName());
    }

    /**
     * A value that fits its form may still not fit its field, or the run; then the question is
     * asked again.
     */
    private CompletionStage<RpcResult> answered(
        TaskRun run, TaskView view, ElicitationForms forms, ObjectNode answers) {
      return tasks
          .answer(run, answers, view.asked())
          .thenCompose(
              taken ->
                  settle(
                      run,
                      taken,
                      now -> {
                        boolean asBefore = TaskMethods.stillAsked(view, now, answers);
                        if (asBefore && TaskMethods.isMendable(taken)) {
                          throw new UnansweredException(forms.asks());
                        }
                        return asBefore && now.status() == TaskView.Status.INPUT_REQUIRED;
                      }));
    }

    /**
     * What a run does after a command. If it is as before, the command is repeated in a while, or
     * its refusal ends the call, because it would be refused again.
     */
    private CompletionStage<RpcResult> settle(
        TaskRun run, ToolReply taken, Predicate<TaskView> asBefore) {
      return tasks
          .view(run)
          .thenCompose(
              now -> {
                if (!taken.error() || !asBefore.test(now)) {
                  return settle(run, now);
                }
                return HostError.isTemporary(code(taken))
                    ? awaitRun(run, RETRY)
                    : now(replies.result(call.tool(), taken, request.revision()));
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
