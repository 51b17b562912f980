package io.fermata.agent.state;

import io.fermata.flow.event.ForkOrigin;

/**
 * Where a forked thread comes from, and what it performs.
 *
 * @param threadId the thread that it was forked from
 * @param entry the number of the entry in that thread's journal after which the fork continues
 * @param entryAt when that entry was written
 * @param mode live, a sandbox, or with the results of its source
 * @param by who forked it: a principal
 */
public record ThreadFork(
    String threadId, long entry, long entryAt, ForkOrigin.Mode mode, String by) {

  public boolean sandbox() {
    return mode == ForkOrigin.Mode.SANDBOX;
  }
}
