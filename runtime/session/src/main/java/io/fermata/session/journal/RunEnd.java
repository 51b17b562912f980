package io.fermata.session.journal;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.event.RunState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that remains of a run that has ended.
 *
 * @param calls the names of its latest calls, so that a repeated one drives nothing
 * @param unclaimed its outcome, if it ended while no client waited: the next call fetches it
 * @param keptUntil when what the journal has of the run is swept
 * @param knownUntil when even its end is forgotten; null if that is kept
 * @param task whether the run was handed out as a task
 * @param earlierTasks what is kept of the tasks that the session had before; null for none
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
    @Nullable List<TaskEnd> earlierTasks) {

  /**
   * The outcome of a run that nobody has fetched.
   *
   * @param reason why it ended early, or failed
   */
  public record Unclaimed(@Nullable JsonNode result, @Nullable String reason) {}

  /**
   * How a task ended, for those who ask after its session has another run.
   *
   * @param at when it ended
   * @param keptUntil until when this is kept
   */
  public record TaskEnd(
      String runId, RunState.Status status, RunReply reply, long at, long keptUntil) {}

  /** The run as it was last, with this end. */
  public RunState last(RunState before, long at) {
    return before.ended(status, at);
  }

  /** The state of a session whose run has ended. */
  public RunState state(long at) {
    return RunState.ended(status, runId, version, at);
  }
}
