package io.fermata.session.call;

/** When a call is replied to. */
public enum ReplyMode {
  /** When the run pauses or ends; at the deadline with {@code still_working}. */
  WAITS,
  /** When the run pauses or ends; at the deadline with a task. */
  TAKES_A_TASK,
  /** As soon as the call is journaled; with a task, if there is work to do. */
  LEAVES,
  /** As soon as the call is journaled; once its run has paused or ended, it fetches the outcome. */
  STARTS;

  public boolean takesTasks() {
    return this == TAKES_A_TASK || this == LEAVES;
  }

  /** Whether the reply does not wait for the work of the run. */
  public boolean hasty() {
    return this == LEAVES || this == STARTS;
  }
}
