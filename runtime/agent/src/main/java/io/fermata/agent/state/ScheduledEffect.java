package io.fermata.agent.state;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import io.fermata.agent.ScheduledHandler;
import org.jspecify.annotations.Nullable;

/**
 * Scheduled work of an agent.
 *
 * @param agent the agent that scheduled it, even if another agent acts by then
 * @param effect the name of the {@link ScheduledHandler} work
 * @param due when it is due, in milliseconds of the epoch
 * @param error the error; null for none
 */
public record ScheduledEffect(
    String id,
    String agent,
    String effect,
    JsonNode arguments,
    long due,
    Status status,
    int attempt,
    @Nullable String error) {

  /** The status of the effect. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum Status {
    PENDING,
    RUNNING,
    COMPLETED,
    FAILED
  }

  /** A copy. */
  @Override
  public JsonNode arguments() {
    return arguments.deepCopy();
  }

  public boolean over() {
    return status == Status.COMPLETED || status == Status.FAILED;
  }

  /** As it is in a fork of its thread, which has not begun it. */
  ScheduledEffect renewed(long later) {
    return now(Status.PENDING, attempt, due + later, error);
  }

  ScheduledEffect now(Status next, int newAttempt, long newDue, @Nullable String why) {
    return new ScheduledEffect(id, agent, effect, arguments, newDue, next, newAttempt, why);
  }
}
