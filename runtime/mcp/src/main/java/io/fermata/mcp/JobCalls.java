package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ErrorCode;
import io.fermata.flow.Json;
import io.fermata.session.HostError;
import io.fermata.session.TaskRun;
import io.fermata.session.TaskView;
import io.fermata.session.Tasks;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolHost;
import io.fermata.session.ToolReply;
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
final class JobCalls {
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
  private final TaskCalls calls;
  private final ToolReplies replies;
  private final PlainCalls plain;
  private final Gate gate;
  private final @Nullable Duration patience;

  /**
   * @param patience how long a client that takes no stream can wait; null for however long it takes
   */
  JobCalls(
      ToolHost host,
      TaskCalls calls,
      ToolReplies replies,
      PlainCalls plain,
      Gate gate,
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

  CompletionStage<Result> call(ToolCall call, Request request) {
    Begun begun = new Begun(request.revision());
    CompletionStage<Result> answer =
        plain
            .run(
                request,
                "tools/call",
                call.tool(),
                call.arguments(),
                true,
                round -> new Call(named(call, request, round), request, round, begun).go())
            .whenComplete((result, failure) -> begun.over(failure));
    CompletionStage<Result> told = gate.orHandedBack(answer, begun::handedBack);
    told.whenComplete((result, failure) -> begun.told());
    return told;
  }

  /** Who takes no task gets back to the run of its call by the name of that, or not at all. */
  private ToolCall named(ToolCall call, Request request, McpCall round) {
    if (TaskCalls.declared(request) || call.meta().path(ToolReplies.CALL_ID).isTextual()) {
      return call;
    }
    JsonNode before = round.remembered();
    String callId = before == null ? host.handles().mint() : before.path("callId").asText();
    ObjectNode meta = call.meta().deepCopy().put(ToolReplies.CALL_ID, callId);
    return new ToolCall(
        call.tool(), call.principal(), call.arguments(), meta, call.transportSession());
  }

  /** The run that a call waits for, through all of its rounds. */
  private final class Begun {
    final long since = System.nanoTime();
    private final Revision revision;
    private @Nullable TaskRun run;
    private @Nullable String callId;
    private @Nullable CompletableFuture<TaskView> settled;
    private boolean asks;
    private boolean left;

    Begun(Revision revision) {
      this.revision = revision;
    }

    synchronized void is(TaskRun of, ToolCall call) {
      run = of;
      callId = call.meta().path(ToolReplies.CALL_ID).asText();
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
    void over(@Nullable Throwable failure) {
      TaskRun asking;
      synchronized (this) {
        asking = failure == null || !asks || revision.modern() ? null : run;
      }
      if (asking != null) {
        abandon(asking);
      }
    }

    /** Says that the run goes on; null if there is none yet. */
    synchronized @Nullable Result handedBack() {
      if (run == null || callId == null) {
        return null;
      }
      left = true;
      return replies.handedBack(callId, run, revision);
    }

    /** The client has its result, and nobody waits for the run. */
    void told() {
      CompletableFuture<TaskView> waiting;
      synchronized (this) {
        waiting = left ? settled : null;
      }
      if (waiting != null) {
        waiting.completeExceptionally(Refusal.cutOff());
      }
    }
  }

  /** A call in one of its rounds. */
  private final class Call {
    private final ToolCall call;
    private final Request request;
    private final McpCall round;
    private final Begun begun;
    private final boolean takesTasks;

    Call(ToolCall call, Request request, McpCall round, Begun begun) {
      this.call = call;
      this.request = request;
      this.round = round;
      this.begun = begun;
      this.takesTasks = TaskCalls.declared(request);
    }

    CompletionStage<Result> go() {
      JsonNode before = round.remembered();
      if (before != null) {
        TaskRun run = run(before.path("runId").asText());
        return tasks.view(run).thenCompose(view -> standing(run, view));
      }
      CompletionStage<ToolReply> reply =
          takesTasks ? tasks.call(call, request.listener()) : host.call(call, request.listener());
      return reply.thenCompose(this::replied);
    }

    private TaskRun run(String runId) {
      TaskRun run = new TaskRun(call.principal(), call.tool(), runId);
      if (!takesTasks) {
        begun.is(run, call);
      }
      return run;
    }

    private CompletionStage<Result> replied(ToolReply reply) {
      String runId = reply.meta().path("fermata/run").path("runId").asText();
      if (runId.isEmpty() || !(asks(reply) || GOING_ON.contains(code(reply)))) {
        return now(replies.result(call.tool(), reply, request.revision()));
      }
      TaskRun run = run(runId);
      return reply.task() && takesTasks
          ? now(calls.created(run))
          : tasks.view(run).thenCompose(view -> standing(run, view));
    }

    private CompletionStage<Result> standing(TaskRun run, TaskView view) {
      return switch (view.standing()) {
        case WORKING -> takesTasks ? now(calls.created(run)) : later(run);
        case STANDING -> asks(view.reply()) ? ask(run, view) : stopped(run, view.reply());
        case ENDED -> now(replies.result(call.tool(), view.reply(), request.revision()));
        case CANCELLED -> failed("The run was cancelled.");
        case EXPIRED -> throw Refusal.failed("The run waited for too long, and has expired.");
        case UNKNOWN -> throw Refusal.params("The run is over: make a new call.");
        case UNREACHABLE -> throw TaskCalls.unreachable(view.reply());
      };
    }

    private static Refusal tooLong() {
      return Refusal.failed(
          "This takes longer than a single answer can be waited for, and was ended: accept"
              + " text/event-stream, or tasks.");
    }

    private void look(TaskRun run, CompletableFuture<TaskView> settled) {
      tasks
          .view(run)
          .thenAccept(
              view -> {
                if (TaskCalls.missed(view)) {
                  if (!settled.isDone()) {
                    SOON.execute(() -> look(run, settled));
                  }
                } else if (view.standing() != TaskView.Standing.WORKING) {
                  settled.complete(view);
                }
              });
    }

    /** Who cannot look after the run has it end with the call. */
    private CompletionStage<Result> later(TaskRun run) {
      CompletableFuture<TaskView> settled = new CompletableFuture<>();
      begun.waits(settled);
      Runnable look = () -> look(run, settled);
      Runnable unwatch = tasks.watch(run, look);
      look.run();
      Progress way = request.progress();
      if (way != null) {
        way.hold();
        way.whenGone(
            () -> {
              if (settled.completeExceptionally(Refusal.cancelled())) {
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
          .thenCompose(view -> standing(run, view));
    }

    private CompletionStage<Result> ask(TaskRun run, TaskView view) {
      Forms forms = TaskCalls.forms(view);
      if (!forms.possible(request.capabilities())) {
        return ended(
            run,
            "The tool has to ask its user something that this client cannot show: use one that declares elicitation.");
      }
      round.remember(
          Map.of("runId", run.runId(), "callId", call.meta().path(ToolReplies.CALL_ID).asText()));
      begun.asks();
      Map<String, McpReply> asked = round.ask(forms.asks());
      ObjectNode responses = Json.object();
      asked.forEach((key, reply) -> responses.set(key, reply.json()));
      Forms.Filled filled = forms.filled(responses);
      return filled.answers().size() < asked.size()
          ? ended(run, "The user did not want to answer; the work was ended.")
          : answered(run, view, forms, filled.answers());
    }

    /** Nobody could go on with the run, so it ends with its call. */
    private CompletionStage<Result> ended(TaskRun run, String why) {
      return tasks.cancel(run).thenCompose(done -> failed(why));
    }

    /** A run that has done much goes on; any other stands where only an operator can help. */
    private CompletionStage<Result> stopped(TaskRun run, ToolReply reply) {
      return code(reply).equals(ErrorCode.VISIT_LIMIT.wireName())
          ? tasks
              .answer(run, Json.object(), Map.of())
              .thenCompose(taken -> tasks.view(run))
              .thenCompose(after -> standing(run, after))
          : now(replies.result(call.tool(), reply, request.revision()));
    }

    /** What fits its form may still not fit its field; then it is asked for again. */
    private CompletionStage<Result> answered(
        TaskRun run, TaskView view, Forms forms, ObjectNode answers) {
      return tasks
          .answer(run, answers, view.asked())
          .thenCompose(
              taken -> {
                if (code(taken).equals("invalid_updates")) {
                  throw new Unanswered(forms.asks());
                }
                return tasks.view(run).thenCompose(after -> standing(run, after));
              });
    }

    private CompletionStage<Result> failed(String error) {
      return now(replies.error(error, request.revision()));
    }

    private CompletionStage<Result> now(Result result) {
      return CompletableFuture.completedFuture(result);
    }
  }
}
