package io.fermata.flow;

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
  default void onRecord(RunState before, List<Recorded> coming) {}

  /** Every event, as it is told. One that takes them all alike overrides this. */
  default void onEvent(Recorded event) {
    event.to(this);
  }

  /** So many journal records were lost because it was too slow. */
  default void onDropped(long records) {}

  // --- data -----------------------------------------------------------------------------------

  /** The run came to a node. */
  default void onStageStart(Recorded.StageStart event) {}

  /** The run left a node, whether it was done or given up. */
  default void onStageEnd(Recorded.StageEnd event) {}

  /** An action read a value. */
  default void onRead(Recorded.Read event) {}

  /** A value changed, whoever changed it. */
  default void onWrite(Recorded.Written event) {}

  /** An action succeeded; all its reads and writes were told before. */
  default void onCommit(Recorded.Commit event) {}

  /** A client's answer was judged. */
  default void onAnswer(Recorded.Answer event) {}

  /** A step failed for good, or another recorder threw. */
  default void onError(Recorded.Failure event) {}

  // --- control --------------------------------------------------------------------------------

  default void onRunStart(Recorded.RunStart event) {}

  /** A run completed, was cancelled, or was left for another one. */
  default void onRunEnd(Recorded.RunEnd event) {}

  default void onRunFailed(Recorded.RunFailed event) {}

  /** A run is to end once what it did has been undone. */
  default void onRunEnding(Recorded.RunEnding event) {}

  /** A stage is done. */
  default void onStageExecuted(Recorded.StageExecuted event) {}

  default void onNext(Recorded.Next event) {}

  /** One way out of several was chosen. */
  default void onDecision(Recorded.Decision event) {}

  /** Branches were chosen. */
  default void onSelected(Recorded.Selected event) {}

  default void onFork(Recorded.Fork event) {}

  /** A branch has come to its end and waits for the others. */
  default void onArrival(Recorded.Arrival event) {}

  default void onJoin(Recorded.Join event) {}

  /** A branch was given up. */
  default void onBranchFailed(Recorded.BranchFailed event) {}

  default void onSubflowEntry(Recorded.SubflowEntry event) {}

  default void onSubflowExit(Recorded.SubflowExit event) {}

  /** The run went back along its graph. */
  default void onLoop(Recorded.Loop event) {}

  /** An action ended its flow early. */
  default void onBreak(Recorded.Break event) {}

  /** An effect begins. */
  default void onAttempt(Recorded.Attempt event) {}

  /** An attempt failed and another one follows. */
  default void onStageRetry(Recorded.StageRetry event) {}

  /** A step begins to wait. */
  default void onPause(Recorded.Pause event) {}

  /** A step waits no longer. */
  default void onResume(Recorded.Resume event) {}

  /** A step sleeps; {@link #onResume} tells when it wakes. */
  default void onSleep(Recorded.Sleep event) {}

  /** A signal came from outside, or was taken. */
  default void onSignal(Recorded.Signal event) {}

  /** Answers were corrected and the run went back. */
  default void onReset(Recorded.Reset event) {}

  /** The run was carried over to another version of its flow. */
  default void onMigrated(Recorded.Migrated event) {}

  default void onCompensation(Recorded.Compensation event) {}

  default void onReminder(Recorded.Reminder event) {}

  /** The run has other tags than before. */
  default void onTag(Recorded.Tag event) {}

  // --- emit -----------------------------------------------------------------------------------

  default void onEmit(Recorded.Emit event) {}
}
