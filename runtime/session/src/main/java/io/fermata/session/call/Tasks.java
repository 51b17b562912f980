package io.fermata.session.call;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.key.HostError;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Calls whose work may outlast them: a run is started and journaled, and its caller polls it by its
 * id, also from another process.
 */
public interface Tasks {

  /** The state of a run. The stage never fails. */
  CompletionStage<TaskView> view(TaskRun run);

  /**
   * Answers some or all open questions of a run, without waiting for the outcome. If one of them is
   * no longer open, or was asked again, nothing is answered and the reply is {@code stale_call}.
   *
   * @param answers by field, as a call's {@code stateUpdates}
   * @param asked the ids of the questions by field, from the {@linkplain TaskView#asked view} that
   *     is answered
   */
  CompletionStage<ToolReply> answer(TaskRun run, ObjectNode answers, Map<String, String> asked);

  /**
   * Puts off open questions of a run, which stay open: each is another question from here on, with
   * another id. If one of them is no longer open, or was asked again, nothing changes and the reply
   * is {@code stale_call}.
   *
   * @param asked the ids of the questions by field, from the {@linkplain TaskView#asked view} that
   *     is answered
   */
  CompletionStage<ToolReply> postpone(TaskRun run, Map<String, String> asked);

  /** Cancels a run and compensates its effects. An ended run does not change. */
  CompletionStage<ToolReply> cancel(TaskRun run);

  /**
   * Notifies, on any thread, whenever the state of a run may have changed.
   *
   * @return ends the subscription
   */
  Runnable watch(TaskRun run, Runnable changed);

  /** For a host without tasks: every call is an ordinary one. */
  static Tasks none() {
    ToolReply nothing = ToolReply.refused(HostError.UNKNOWN_SESSION);
    TaskView unknown =
        new TaskView(TaskView.Status.UNKNOWN, nothing, Map.of(), Instant.EPOCH, null);
    return new Tasks() {
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
      public CompletionStage<ToolReply> postpone(TaskRun run, Map<String, String> asked) {
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
