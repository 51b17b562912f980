package io.fermata.flow;

/**
 * When a call of a flow is answered with a task, that is, while its run is still at work: whoever
 * called looks after it later. Callers who take no tasks wait for what comes of their calls.
 */
public enum TaskUse {
  /** Where the call would have to wait for longer than its deadline. */
  WHEN_LATE,
  /** As soon as the run has something to do that takes time. */
  WHEN_IT_WORKS,
  /** As soon as the run has something to do; callers who take no tasks are refused. */
  ALWAYS
}
