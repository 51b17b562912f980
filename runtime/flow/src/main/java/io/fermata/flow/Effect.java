package io.fermata.flow;

import org.jspecify.annotations.Nullable;

/**
 * Something to be done outside: a node's action, or the check of an answer.
 *
 * @param runId the run that it belongs to; another run of the same session knows nothing of it
 * @param field the field whose answer is checked, or null for an action
 * @param attempt the attempt to perform, or the failed one that another follows
 * @param retryAt if present the effect is not to be performed before this moment, and only after an
 *     {@link Input.EffectDue}
 */
public record Effect(
    String runId,
    Place place,
    @Nullable String field,
    int attempt,
    @Nullable Long retryAt,
    Policy policy) {

  /** What tells this attempt from every other one of any run. */
  public String key() {
    return runId + "/" + place + "/" + (field == null ? "" : field) + "/" + attempt;
  }
}
