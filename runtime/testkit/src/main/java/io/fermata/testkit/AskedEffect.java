package io.fermata.testkit;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import org.jspecify.annotations.Nullable;

/**
 * Something that a run asked for outside of itself: an action, the check of an answer, a
 * compensation or a reminder.
 *
 * @param node the node, with that of its sub-flow before it
 * @param field the field whose answer is checked, or null
 * @param key the idempotency key, the same for every attempt
 * @param attempt 1 for the first one
 * @param input the state of the run as the effect sees it
 */
public record AskedEffect(
    String node,
    StepEffect.Kind kind,
    @Nullable String field,
    String key,
    int attempt,
    ObjectNode input) {

  static AskedEffect of(RunState run, StepEffect effect) {
    return new AskedEffect(
        effect.place().node(),
        effect.kind(),
        effect.field(),
        effect.runId() + "/" + effect.place(),
        effect.attempt(),
        run.data());
  }

  @Override
  public String toString() {
    return node + (field == null ? "" : " checks " + field) + " attempt " + attempt;
  }
}
