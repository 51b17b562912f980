package io.fermata.agent;

import io.fermata.flow.schema.ArgumentSchema;
import java.util.Objects;

/**
 * Lets a model hand the thread over to another agent, whose side A acts after the end of the step.
 *
 * @param name what the model calls it
 * @param agent the agent that takes over
 */
public record Handoff(String name, String agent, String description) implements Offered {
  private record Reason(
      @io.fermata.flow.schema.Describe("What the next agent should know, or nothing")
          @org.jspecify.annotations.Nullable
          String message) {}

  private static final ArgumentSchema ARGUMENTS = ArgumentSchema.of(Reason.class);

  public Handoff {
    Tool.named(name, "handoff");
  }

  /** Hands over to an agent, under the agent's name. */
  public static Handoff to(String agent, String description) {
    return new Handoff(agent, agent, description);
  }

  public Handoff as(String called) {
    return new Handoff(called, agent, description);
  }

  @Override
  public Handoff withDescription(String text) {
    Objects.requireNonNull(text, "description");
    return new Handoff(name, agent, text);
  }

  @Override
  public ArgumentSchema arguments() {
    return ARGUMENTS;
  }
}
