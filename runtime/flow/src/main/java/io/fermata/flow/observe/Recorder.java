package io.fermata.flow.observe;

import io.fermata.flow.event.Event;

/**
 * Watches runs. It gets what the journal says once the journal has it, so it gets the same events
 * in the same order whether it watches a run or reads one that ended last week.
 *
 * <p>Implement what you care about. The hooks are of three channels: what happens to the data,
 * which way the run goes, and what actions emit. A recorder must not change the values it is given;
 * what it throws disturbs nothing and is passed to the other recorders.
 *
 * <p>Most hooks are given an event of the journal as it stands there ({@link Event}). The others
 * are given what is derived from one:
 *
 * <table>
 * <caption>What feeds the hooks that are given no event of the journal</caption>
 * <tr><th>hook<th>event
 * <tr><td>onStageStart, onStageEnd<td>whichever brings a run to a node, or away from it
 * <tr><td>onStageExecuted<td>Moved, Forked, Arrived: the node is done, and was not abandoned
 * <tr><td>onRead, onEmit<td>Committed
 * <tr><td>onWrite<td>Answered, Accepted, Rejected, Passed, Committed, Received, Opened, Closed, Joined, Reset,
 *     Migrated
 * <tr><td>onAnswer<td>Accepted, Rejected
 * <tr><td>onError<td>Stopped, unless another step made it stop; a recorder that threw
 * <tr><td>onRunStart<td>Started, with the Answered that comes with it
 * <tr><td>onRunEnd<td>Completed, Cancelled, Expired, Abandoned
 * <tr><td>onPause<td>Asked, Shown, Awaited, Slept, Stopped
 * <tr><td>onResume<td>Accepted or Passed of the last question, Received, Woken, DeadlinePassed, Retried, Skipped; Moved
 *     after a widget; whichever gives the wait up
 * <tr><td>onSignal<td>Signalled, Received
 * <tr><td>onCompensation<td>Undoing, Undone, Skipped
 * <tr><td>onReminder<td>Reminding, Reminded
 * <tr><td>onForkedFrom<td>ForkedFrom
 * </table>
 *
 * <p>There is no hook for sub-flows that are registered while a run is open, as flows are fixed
 * once they are compiled.
 */
public interface Recorder {
  /** Its name, in what other recorders get of it. */
  default String id() {
    return getClass().getSimpleName();
  }

  /**
   * An entry of the journal, before its events are. For one that must know the whole, as redaction
   * must: in a sub-flow, too, it is all of the entry.
   */
  default void onEntry(ObservedEntry entry) {}

  /** Every event. A recorder that takes them all alike overrides this. */
  default void onEvent(Observation event) {
    event.to(this);
  }

  /** So many journal records were lost because it was too slow. */
  default void onDropped(long records) {}

  // --- data -----------------------------------------------------------------------------------

  /** The run entered a node. */
  default void onStageStart(Occurrence at) {}

  /** The run left a node, whether it was done or abandoned. */
  default void onStageEnd(Occurrence at, boolean done) {}

  /** An action read a value. */
  default void onRead(Occurrence at, Observation.Read event) {}

  /** A value changed, by anybody. */
  default void onWrite(Occurrence at, Observation.Written event) {}

  /** An action succeeded; all its reads and writes came before. */
  default void onCommit(Occurrence at, Event.Committed event) {}

  /** A client's answer was judged. */
  default void onAnswer(Occurrence at, Observation.Answer event) {}

  /** A question was left open, and its field took the default if it has one. */
  default void onPassed(Occurrence at, Event.Passed event) {}

  /** A step failed for good, or another recorder threw. */
  default void onError(Occurrence at, Observation.Failure event) {}

  // --- control --------------------------------------------------------------------------------

  default void onRunStart(Occurrence at, Observation.RunStart event) {}

  /** A run completed, was cancelled, expired, or was left for another one. */
  default void onRunEnd(Occurrence at, Observation.RunEnd event) {}

  default void onRunFailed(Occurrence at, Event.Failed event) {}

  /** A run is to end once what it did has been undone. */
  default void onRunEnding(Occurrence at, Event.Ending event) {}

  /** A stage is done. */
  default void onStageExecuted(Occurrence at) {}

  default void onNext(Occurrence at, Event.Moved event) {}

  /** One way out of several was chosen. */
  default void onDecision(Occurrence at, Event.Decided event) {}

  /** Branches were chosen; the join alone if no rule matched. */
  default void onSelected(Occurrence at, Event.Decided event) {}

  default void onFork(Occurrence at, Event.Forked event) {}

  /** A branch has ended and waits for the others. */
  default void onArrival(Occurrence at, Event.Arrived event) {}

  /** Branches became one, or the items of a list did. */
  default void onJoin(Occurrence at, Event.Joined event, boolean list) {}

  /** A branch was dropped; the moment's place is where it failed. */
  default void onBranchFailed(Occurrence at, Event.BranchFailed event) {}

  default void onSubflowEntry(Occurrence at, Event.Opened event) {}

  default void onSubflowExit(Occurrence at, Event.Closed event) {}

  /**
   * The run went back along its graph, to a place before the moment's.
   *
   * @param pass which pass begins there; those that a correction took back do not count
   */
  default void onLoop(Occurrence at, Event.Moved event, int pass) {}

  /** An action ended its flow early. */
  default void onBreak(Occurrence at, Event.Broken event) {}

  /** An effect begins. */
  default void onAttempt(Occurrence at, Event.Attempted event) {}

  /** An attempt failed and another one follows. */
  default void onStageRetry(Occurrence at, Event.AttemptFailed event) {}

  /** A step begins to wait, or to sleep. */
  default void onPause(Occurrence at, Observation.Pause event) {}

  /** A step waits no longer. */
  default void onResume(Occurrence at, Observation.Resume event) {}

  /** A signal came from outside, or was taken. */
  default void onSignal(Occurrence at, Observation.Signal event) {}

  /** Answers were corrected and the run went back. */
  default void onReset(Occurrence at, Event.Reset event) {}

  /** The run was carried over to another version of its flow; what that changed comes as writes. */
  default void onMigrated(Occurrence at, Event.Migrated event) {}

  /** The run is a fork of another one, to which everything before happened. */
  default void onForkedFrom(Occurrence at, Observation.Fork event) {}

  default void onCompensation(Occurrence at, Observation.Compensation event) {}

  default void onReminder(Occurrence at, Observation.Reminder event) {}

  /** The run has other tags than before. */
  default void onTag(Occurrence at, Event.Tagged event) {}

  // --- emit -----------------------------------------------------------------------------------

  default void onEmit(Occurrence at, Event.Emitted event) {}
}
