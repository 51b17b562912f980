package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.RunState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What remains of an ended run.
 *
 * @param calls the ids of its latest calls, so that a repeated one has no effect
 * @param unclaimed its outcome, if it ended while no client waited; the next call fetches it
 * @param keptUntil when the journal of the run is swept
 * @param knownUntil when its end is deleted as well; null for never
 * @param task whether the run was a task
 * @param earlierTasks the ends of earlier tasks of the session; null for none
 * @param secrets the secrets in its entry, which are known by nothing else once the journal is
 *     swept; null for none
 */
public record RunEnd(
    String runId,
    int version,
    RunState.Status status,
    List<String> calls,
    @Nullable Unclaimed unclaimed,
    long keptUntil,
    @Nullable Long knownUntil,
    boolean task,
    @Nullable List<TaskEnd> earlierTasks,
    @Nullable JsonNode secrets) {

  public RunEnd(
      String runId,
      int version,
      RunState.Status status,
      List<String> calls,
      @Nullable Unclaimed unclaimed,
      long keptUntil,
      @Nullable Long knownUntil,
      boolean task,
      @Nullable List<TaskEnd> earlierTasks) {
    this(runId, version, status, calls, unclaimed, keptUntil, knownUntil, task, earlierTasks, null);
  }

  RunEnd withSecrets(JsonNode found) {
    return new RunEnd(
        runId, version, status, calls, unclaimed, keptUntil, knownUntil, task, earlierTasks, found);
  }

  /**
   * An outcome that no client has fetched.
   *
   * @param reason why it ended early, or failed
   */
  public record Unclaimed(@Nullable JsonNode result, @Nullable String reason) {}

  /**
   * The end of a task, kept while its session has another run.
   *
   * @param at when it ended
   * @param keptUntil until when it is kept
   */
  public record TaskEnd(
      String runId, RunState.Status status, RunReply reply, long at, long keptUntil) {}

  /** The final state of the run. */
  public RunState last(RunState before, long at) {
    return before.ended(status, at);
  }

  /** The state of a session whose run has ended. */
  public RunState state(long at) {
    return RunState.ended(status, runId, version, at);
  }
}
