package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.ToolHost;
import io.fermata.session.key.HostError;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * Calls whose work may outlast them: a run is begun, journaled and left to itself, and whoever
 * began it looks after it by its name, in another process if it must be.
 */
public interface Tasks {

  /**
   * Calls a tool as {@link ToolHost#call(ToolCall, Consumer)} does, for a caller who takes a task
   * where the reply has the code {@code still_working} or {@code waiting}: what the run comes to is
   * kept for it. As the flow's author wants it, that reply comes as soon as the run has work to do;
   * what it reflects is in the journal then.
   */
  CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress);

  /** How a run stands. The stage never fails. */
  CompletionStage<TaskView> view(TaskRun run);

  /**
   * Answers open questions of a run, some or all, and does not wait for what comes of it. Where one
   * of them is not asked any more, or asked anew, nothing is answered: the reply is {@code
   * stale_call}.
   *
   * @param answers by field, as a call's {@code stateUpdates}
   * @param asked the names of the questions by field, as the {@linkplain TaskView#asked view} had
   *     them that was answered
   */
  CompletionStage<ToolReply> answer(TaskRun run, ObjectNode answers, Map<String, String> asked);

  /** Ends a run; what it did is undone. A run that has ended stays as it is. */
  CompletionStage<ToolReply> cancel(TaskRun run);

  /**
   * Has somebody told, on any thread, whenever a run may stand otherwise than before.
   *
   * @return ends it
   */
  Runnable watch(TaskRun run, Runnable changed);

  /**
   * The tasks of a host that has none: every call is an ordinary one.
   *
   * @param calls calls a tool of the host
   */
  static Tasks none(
      BiFunction<ToolCall, Consumer<ToolProgress>, CompletionStage<ToolReply>> calls) {
    ToolReply nothing = ToolReply.refused(HostError.UNKNOWN_SESSION);
    TaskView unknown =
        new TaskView(TaskView.Standing.UNKNOWN, nothing, Map.of(), Instant.EPOCH, null);
    return new Tasks() {
      @Override
      public CompletionStage<ToolReply> call(ToolCall call, Consumer<ToolProgress> progress) {
        return calls.apply(call, progress);
      }

      @Override
      public CompletionStage<TaskView> view(TaskRun run) {
        return CompletableFuture.completedFuture(unknown);
      }

      @Override
      public CompletionStage<ToolReply> answer(
          TaskRun run, ObjectNode answers, Map<String, String> asked) {
        return CompletableFuture.completedFuture(nothing);
      }

      @Override
      public CompletionStage<ToolReply> cancel(TaskRun run) {
        return CompletableFuture.completedFuture(nothing);
      }

      @Override
      public Runnable watch(TaskRun run, Runnable changed) {
        return () -> {};
      }
    };
  }
}
