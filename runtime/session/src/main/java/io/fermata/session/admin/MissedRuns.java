package io.fermata.session.admin;

/**
 * What becomes of a schedule's occurrences that went by before their runs could be started: while
 * no host was running, while its machine slept, or while the run before was still being started.
 */
public enum MissedRuns {
  /** Only the latest of them starts a run. */
  LATEST,

  /** Each of them starts a run, but only the latest 1,000. */
  ALL,

  /**
   * What went by before the host started is left out. What it could not start in time while it ran
   * is treated as with {@link #LATEST}.
   */
  NONE
}
