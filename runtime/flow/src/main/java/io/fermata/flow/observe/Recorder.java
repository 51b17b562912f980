package io.fermata.flow.observe;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import java.util.List;

/**
 * Watches runs. It is told what the journal says once the journal has it, so it hears the same
 * events in the same order whether it watches a run or reads one that ended last week.
 *
 * <p>Implement what you care about. The hooks are of three channels: what happens to the data,
 * which way the run goes, and what actions emit. A recorder must not change the values it is given;
 * what it throws disturbs nothing and is told to the other recorders.
 *
 * <p>Each hook is fed by events of the journal ({@link Event}), or by the difference that one makes
 * to the state:
 *
 * <table>
 * <caption>What feeds each hook</caption>
 * <tr><th>hook<th>event
 * <tr><td>onStageStart, onStageEnd<td>whichever brings a run to a node, or away from it
 * <tr><td>onStageExecuted<td>Moved, Forked, Arrived: the node is done, and was not given up
 * <tr><td>onRead, onCommit, onEmit<td>Committed
 * <tr><td>onWrite<td>Answered, Accepted, Rejected, Committed, Received, Opened, Closed, Joined, Reset,
 *     Migrated
 * <tr><td>onAnswer<td>Accepted, Rejected
 * <tr><td>onError<td>Stopped, unless another step made it stop; a recorder that threw
 * <tr><td>onRunStart<td>Started, with the Answered that comes with it
 * <tr><td>onRunEnd<td>Completed, Cancelled, Abandoned
 * <tr><td>onRunFailed<td>Failed
 * <tr><td>onRunEnding<td>Ending
 * <tr><td>onNext, onLoop<td>Moved, forward or back along the graph
 * <tr><td>onDecision, onSelected<td>Decided, for one way or for branches
 * <tr><td>onFork, onJoin<td>Forked, Joined
 * <tr><td>onBranchFailed<td>BranchFailed
 * <tr><td>onSubflowEntry, onSubflowExit<td>Opened, Closed
 * <tr><td>onBreak<td>Broken
 * <tr><td>onAttempt, onStageRetry<td>Attempted, AttemptFailed
 * <tr><td>onPause<td>Asked, Shown, Awaited, Stopped
 * <tr><td>onSleep<td>Slept
 * <tr><td>onResume<td>Accepted of the last answer, Received, Woken, Overdue, Retried, Skipped; Moved
 *     after a widget; whichever gives the wait up
 * <tr><td>onSignal<td>Signalled, Received
 * <tr><td>onReset<td>Reset
 * <tr><td>onMigrated<td>Migrated
 * <tr><td>onCompensation<td>Undoing, Undone, Skipped
 * <tr><td>onReminder<td>Reminding, Reminded
 * <tr><td>onTag<td>Tagged
 * </table>
 *
 * <p>There is no hook for sub-flows that are registered while a run goes on, as flows are fixed
 * once they are compiled.
 */
public interface Recorder {
  /** Who it is, in what others are told of it. */
  default String id() {
    return getClass().getSimpleName();
  }

  /**
   * What a journal record comes to, before it is told event by event. For one that must know the
   * whole, as redaction must: in a sub-flow, too, it is all that the record comes to.
   *
   * @param before the state before it
   */
  default void onRecord(RunState before, List<Observation> coming) {}

  /** Every event, as it is told. One that takes them all alike overrides this. */
  default void onEvent(Observation event) {
    event.to(this);
  }

  /** So many journal records were lost because it was too slow. */
  default void onDropped(long records) {}

  // --- data -----------------------------------------------------------------------------------

  /** The run came to a node. */
  default void onStageStart(Observation.StageStart event) {}

  /** The run left a node, whether it was done or given up. */
  default void onStageEnd(Observation.StageEnd event) {}

  /** An action read a value. */
  default void onRead(Observation.Read event) {}

  /** A value changed, whoever changed it. */
  default void onWrite(Observation.Written event) {}

  /** An action succeeded; all its reads and writes were told before. */
  default void onCommit(Observation.Commit event) {}

  /** A client's answer was judged. */
  default void onAnswer(Observation.Answer event) {}

  /** A step failed for good, or another recorder threw. */
  default void onError(Observation.Failure event) {}

  // --- control --------------------------------------------------------------------------------

  default void onRunStart(Observation.RunStart event) {}

  /** A run completed, was cancelled, or was left for another one. */
  default void onRunEnd(Observation.RunEnd event) {}

  default void onRunFailed(Observation.RunFailed event) {}

  /** A run is to end once what it did has been undone. */
  default void onRunEnding(Observation.RunEnding event) {}

  /** A stage is done. */
  default void onStageExecuted(Observation.StageExecuted event) {}

  default void onNext(Observation.Next event) {}

  /** One way out of several was chosen. */
  default void onDecision(Observation.Decision event) {}

  /** Branches were chosen. */
  default void onSelected(Observation.Selected event) {}

  default void onFork(Observation.Fork event) {}

  /** A branch has come to its end and waits for the others. */
  default void onArrival(Observation.Arrival event) {}

  default void onJoin(Observation.Join event) {}

  /** A branch was given up. */
  default void onBranchFailed(Observation.BranchFailed event) {}

  default void onSubflowEntry(Observation.SubflowEntry event) {}

  default void onSubflowExit(Observation.SubflowExit event) {}

  /** The run went back along its graph. */
  default void onLoop(Observation.Loop event) {}

  /** An action ended its flow early. */
  default void onBreak(Observation.Break event) {}

  /** An effect begins. */
  default void onAttempt(Observation.Attempt event) {}

  /** An attempt failed and another one follows. */
  default void onStageRetry(Observation.StageRetry event) {}

  /** A step begins to wait. */
  default void onPause(Observation.Pause event) {}

  /** A step waits no longer. */
  default void onResume(Observation.Resume event) {}

  /** A step sleeps; {@link #onResume} tells when it wakes. */
  default void onSleep(Observation.Sleep event) {}

  /** A signal came from outside, or was taken. */
  default void onSignal(Observation.Signal event) {}

  /** Answers were corrected and the run went back. */
  default void onReset(Observation.Reset event) {}

  /** The run was carried over to another version of its flow. */
  default void onMigrated(Observation.Migrated event) {}

  default void onCompensation(Observation.Compensation event) {}

  default void onReminder(Observation.Reminder event) {}

  /** The run has other tags than before. */
  default void onTag(Observation.Tag event) {}

  // --- emit -----------------------------------------------------------------------------------

  default void onEmit(Observation.Emit event) {}
}
