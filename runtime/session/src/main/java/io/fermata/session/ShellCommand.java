package io.fermata.session;

/** What every session actor is told, whatever its program: of its effects, and of waking. */
sealed interface ShellCommand extends SessionCommand {

  /** An effect's handler has begun, on a thread of its own. */
  record EffectBegun(String key) implements ShellCommand {}

  /** An effect has ended, and what came of it can be fetched. */
  record EffectEnded(String key) implements ShellCommand {}

  /** An effect took too long. */
  record EffectOverdue(String key) implements ShellCommand {}

  /**
   * The wait for an effect is over.
   *
   * @param arrived whether its time has come; a timer cannot reach as far ahead as a program can
   *     wait
   */
  record EffectDue(String key, boolean arrived) implements ShellCommand {}

  /** Take up the effects that were under way when the journal ended. */
  record Resume() implements ShellCommand {}

  /** Be awake, so that unfinished work goes on. */
  record Wake() implements ShellCommand {}

  /** Stop at once, whatever is under way: all that there is of it is about to be erased. */
  record Vanish() implements ShellCommand {}

  /** Nobody has called for a while, or memory is wanted for others. */
  record Idle() implements ShellCommand {}

  /**
   * Stop, if nothing is under way.
   *
   * @param whenDone stop as soon as nothing is under way, instead of staying awake
   */
  record Sleep(boolean whenDone) implements ShellCommand {}
}
