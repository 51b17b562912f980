package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.TaskRun;
import io.fermata.session.TaskView;
import io.fermata.session.Tasks;
import io.fermata.session.ToolCall;
import io.fermata.session.ToolHost;
import io.fermata.session.ToolReply;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Calls of jobs: each is a run of its own. Who takes tasks is given one where the run has work to
 * do; others wait for it. What the run asks before that is asked within the call.
 */
final class JobCalls {
  private final ToolHost host;
  private final Tasks tasks;
  private final TaskCalls calls;
  private final ToolReplies replies;
  private final PlainCalls plain;

  JobCalls(ToolHost host, TaskCalls calls, ToolReplies replies, PlainCalls plain) {
    this.host = host;
    this.tasks = calls.tasks();
    this.calls = calls;
    this.replies = replies;
    this.plain = plain;
  }

  CompletionStage<Result> call(ToolCall call, Request request) {
    return plain.run(
        request,
        "tools/call",
        call.tool(),
        call.arguments(),
        true,
        round -> new Call(call, request, round).go());
  }

  /** A call in one of its rounds. */
  private final class Call {
    private final ToolCall call;
    private final Request request;
    private final McpCall round;
    private final boolean takesTasks;

    Call(ToolCall call, Request request, McpCall round) {
      this.call = call;
      this.request = request;
      this.round = round;
      this.takesTasks = TaskCalls.declared(request);
    }

    CompletionStage<Result> go() {
      JsonNode begun = round.remembered();
      if (begun != null) {
        TaskRun run = new TaskRun(call.principal(), call.tool(), begun.asText());
        return tasks.view(run).thenCompose(view -> standing(run, view));
      }
      CompletionStage<ToolReply> reply =
          takesTasks ? tasks.call(call, request.listener()) : host.call(call, request.listener());
      return reply.thenCompose(this::replied);
    }

    private CompletionStage<Result> replied(ToolReply reply) {
      String runId = reply.meta().path("fermata/run").path("runId").asText();
      if (!reply.error() && reply.structured().path("status").asText().equals("complete")
          || runId.isEmpty()) {
        return now(replies.result(call.tool(), reply, request.revision()));
      }
      TaskRun run = new TaskRun(call.principal(), call.tool(), runId);
      return reply.task() && takesTasks
          ? now(calls.created(run))
          : tasks.view(run).thenCompose(view -> standing(run, view));
    }

    private CompletionStage<Result> standing(TaskRun run, TaskView view) {
      return switch (view.standing()) {
        case WORKING -> takesTasks ? now(calls.created(run)) : later(run);
        case STANDING -> ask(run, view);
        case ENDED -> now(replies.result(call.tool(), view.reply(), request.revision()));
        case CANCELLED -> told("The run was cancelled.");
        case EXPIRED -> throw Refusal.failed("The run waited for too long, and has expired.");
        case UNKNOWN -> throw Refusal.params("The run is over: make the call anew.");
        case UNREACHABLE -> throw TaskCalls.unreachable(view.reply());
      };
    }

    /** Who cannot look after the run has it end with the call. */
    private CompletionStage<Result> later(TaskRun run) {
      CompletableFuture<TaskView> settled = new CompletableFuture<>();
      AtomicReference<Runnable> unwatch = new AtomicReference<>(() -> {});
      Runnable look =
          () ->
              tasks
                  .view(run)
                  .thenAccept(
                      view -> {
                        if (view.standing() != TaskView.Standing.WORKING) {
                          settled.complete(view);
                        }
                      });
      unwatch.set(tasks.watch(run, look));
      look.run();
      Progress way = request.progress();
      if (way != null) {
        way.hold();
        way.whenGone(
            () -> {
              if (settled.completeExceptionally(Refusal.cancelled())) {
                tasks.cancel(run);
              }
            });
      }
      return settled
          .whenComplete((view, failure) -> unwatch.get().run())
          .thenCompose(view -> standing(run, view));
    }

    private CompletionStage<Result> ask(TaskRun run, TaskView view) {
      Forms forms = TaskCalls.forms(view);
      if (forms.isEmpty()) {
        return given(run, replies.result(call.tool(), view.reply(), request.revision()));
      } else if (!forms.possible(request.capabilities())) {
        return tasks
            .cancel(run)
            .thenCompose(
                ended ->
                    told(
                        "The tool has to ask its user something, which this client cannot show: use one that declares elicitation."));
      }
      round.remember(run.runId());
      Map<String, McpReply> asked = round.ask(forms.asks());
      ObjectNode responses = Json.object();
      asked.forEach((key, reply) -> responses.set(key, reply.json()));
      Forms.Filled filled = forms.filled(responses);
      if (filled.answers().size() < asked.size()) {
        return tasks
            .cancel(run)
            .thenCompose(ended -> told("The user did not want to answer; the work was ended."));
      }
      return tasks
          .answer(run, filled.answers())
          .thenCompose(taken -> tasks.view(run))
          .thenCompose(after -> standing(run, after));
    }

    /** A run that stands still where nobody can help is ended with its call. */
    private CompletionStage<Result> given(TaskRun run, Result result) {
      return tasks.cancel(run).thenApply(ended -> result);
    }

    private CompletionStage<Result> told(String error) {
      return now(replies.error(error, request.revision()));
    }

    private CompletionStage<Result> now(Result result) {
      return CompletableFuture.completedFuture(result);
    }
  }
}
