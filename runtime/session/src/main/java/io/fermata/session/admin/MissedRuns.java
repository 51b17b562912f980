package io.fermata.session.admin;

/**
 * What happens to missed occurrences of a schedule: those during which no host was running, its
 * machine was suspended, or the start of the previous run was refused and tried again.
 */
public enum MissedRuns {
  /** Only the most recent one starts a run. */
  LATEST,

  /** Each of them starts a run, up to the most recent 1,000. */
  ALL,

  /**
   * Occurrences before the start of the host are skipped. Those missed while it ran are handled as
   * with {@link #LATEST}.
   */
  NONE
}
