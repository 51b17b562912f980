package io.fermata.flow;

import io.fermata.flow.action.Caller;
import io.fermata.flow.action.Progress;

/**
 * What a step's effect can reach while it runs.
 *
 * @param progress receives at once what the step emits
 * @param caller who called the flow as a tool
 * @param principal who started the run; empty if nobody is known
 */
public record World(Progress progress, Caller caller, String principal) {
  /** Nobody follows the progress, and nobody called. */
  public static final World NONE = new World(Progress.NONE, Caller.NONE, "");
}
