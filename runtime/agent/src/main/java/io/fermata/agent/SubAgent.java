package io.fermata.agent;

import io.fermata.flow.schema.ArgumentSchema;
import io.fermata.flow.schema.Describe;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Lets a model call another agent, which works in a child thread.
 *
 * @param name the relation: what the model calls, and the parent's name for such children
 * @param agent the agent of the child
 * @param blocking the call waits for the child's result; otherwise it returns at once, and the
 *     result arrives later as a silent message
 * @param maxInstances how many children of this relation a thread may have; 0 for any number. A
 *     blocking relation with one continues with its existing child
 */
public record SubAgent(
    String name, String agent, String description, boolean blocking, int maxInstances)
    implements Offered {
  private record Task(
      @Describe("What to do, or to answer") String message,
      @Describe("The reference of an earlier call, to continue it") @Nullable String reference) {}

  private static final ArgumentSchema ARGUMENTS = ArgumentSchema.of(Task.class);

  public SubAgent {
    Tool.named(name, "sub-agent");
  }

  public static SubAgent of(String agent, String description) {
    return new SubAgent(agent, agent, description, false, 0);
  }

  public SubAgent as(String relation) {
    return new SubAgent(relation, agent, description, blocking, maxInstances);
  }

  public SubAgent asBlocking() {
    return new SubAgent(name, agent, description, true, maxInstances);
  }

  public SubAgent atMost(int instances) {
    return new SubAgent(name, agent, description, blocking, instances);
  }

  @Override
  public SubAgent withDescription(String text) {
    Objects.requireNonNull(text, "description");
    return new SubAgent(name, agent, text, blocking, maxInstances);
  }

  @Override
  public ArgumentSchema arguments() {
    return ARGUMENTS;
  }
}
