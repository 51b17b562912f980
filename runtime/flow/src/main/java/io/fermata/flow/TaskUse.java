package io.fermata.flow;

/**
 * When a call of a flow is answered with a task while its run is still working, so that its caller
 * asks for the outcome later. Callers who take no tasks wait for the outcome.
 */
public enum TaskUse {
  /** Where the call would have to wait for longer than its deadline. */
  WHEN_LATE,
  /** As soon as the run has something to do that takes time. */
  WHEN_IT_WORKS,
  /** As soon as the run has something to do; callers who take no tasks are refused. */
  ALWAYS
}
