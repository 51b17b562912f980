package io.fermata.flow.event;

import org.jspecify.annotations.Nullable;

/**
 * Something that a step of a run wants done outside, or a moment that it waits for.
 *
 * @param runId the run that it belongs to; another run of the same session knows nothing of it
 * @param field the field whose answer is checked, or null
 * @param attempt the attempt to perform, the failed one that another follows, or the number of a
 *     reminder
 * @param due if present nothing is performed: at this moment an {@link Input.EffectDue} is wanted
 */
public record StepEffect(
    String runId,
    Place place,
    Kind kind,
    @Nullable String field,
    int attempt,
    @Nullable Long due,
    Policy policy)
    implements Effect {

  /** What an effect is for. */
  public enum Kind {
    /** A node's action. */
    ACT,
    /** The check of an answer. */
    CHECK,
    /** The compensation of an action. */
    UNDO,
    /** A reminder of those who are waited for. */
    REMIND,
    /** The end of a sleep. */
    SLEEP,
    /** The end of somebody's time to answer. */
    DEADLINE,
    /** The end of the time that a run may idle. */
    EXPIRE
  }

  /** What distinguishes this attempt from every other one of any run. */
  @Override
  public String key() {
    String what = kind + (field == null ? "" : " " + field);
    return runId + "/" + place + "/" + what + "/" + attempt + (timer() ? "/due" : "");
  }
}
