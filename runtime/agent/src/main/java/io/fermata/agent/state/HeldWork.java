package io.fermata.agent.state;

import com.fasterxml.jackson.databind.EnumNamingStrategies;
import com.fasterxml.jackson.databind.annotation.EnumNaming;
import org.jspecify.annotations.Nullable;

/**
 * Work of a thread that waits for a release which has what it needs.
 *
 * @param id the id of the effect or the key of the call; null if the whole thread waits
 * @param agent the agent whose work it is
 * @param name the handler or the tool that the release lacks; null if it lacks the agent
 */
public record HeldWork(What what, @Nullable String id, String agent, @Nullable String name) {

  /** What is held. */
  @EnumNaming(EnumNamingStrategies.SnakeCaseStrategy.class)
  public enum What {
    /** All that the thread does, as its agent is not registered. */
    THREAD,
    /** A scheduled effect without a handler. */
    EFFECT,
    /**
     * A call that a person decides or has approved, or that is or may be at work or waiting,
     * without its tool.
     */
    CALL
  }

  public static HeldWork thread(String agent) {
    return new HeldWork(What.THREAD, null, agent, null);
  }

  public static HeldWork effect(ScheduledEffect effect) {
    return new HeldWork(What.EFFECT, effect.id(), effect.agent(), effect.effect());
  }

  public static HeldWork call(CallState call, String agent) {
    return new HeldWork(What.CALL, call.key(), agent, call.call().name());
  }

  /** The reason, for a person. */
  public String why() {
    return switch (what) {
      case THREAD -> "no agent %s is registered".formatted(agent);
      case EFFECT ->
          "the agent %s has no effect %s, which is scheduled (%s)".formatted(agent, name, id);
      case CALL -> "the agent %s has no tool %s, whose call %s is open".formatted(agent, name, id);
    };
  }
}
