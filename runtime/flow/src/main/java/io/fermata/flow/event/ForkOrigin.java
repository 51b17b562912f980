package io.fermata.flow.event;

/**
 * Where a forked run comes from, and how it treats effects.
 *
 * @param flow the flow of the run that it was forked from
 * @param runId that run
 * @param entry the number of the entry in that run's journal after which the fork continues
 * @param entryAt when that entry was written
 * @param by who forked it: a principal
 */
public record ForkOrigin(
    String flow, String runId, long entry, long entryAt, Mode mode, String by) {

  /** How a fork treats the effects that it asks for. */
  public enum Mode {
    /** It performs them. */
    LIVE,
    /** It takes their results from its source until one asked for has none there. */
    REPLAY_EFFECTS,
    /** It takes their results from its source, and stops at one that has none there. */
    SANDBOX
  }
}
