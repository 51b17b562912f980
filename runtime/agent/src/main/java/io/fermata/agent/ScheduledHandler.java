package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.event.Policy;
import io.fermata.flow.event.Retry;
import io.fermata.flow.json.Given;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.ArgumentSchema;
import java.time.Duration;
import java.util.Objects;

/**
 * Work of an agent that {@link FlowState#scheduleEffect} schedules. It runs when it is due, even
 * during a turn, and survives restarts.
 */
public record ScheduledHandler(
    String name,
    String description,
    ArgumentSchema arguments,
    Work<ObjectNode> work,
    Policy policy) {
  /** Runs when the work is due. A stage that it begins is not waited for. */
  @FunctionalInterface
  public interface Work<A> {
    void run(FlowState flow, A args) throws Exception;
  }

  public ScheduledHandler {
    Tool.named(name, "effect");
    Objects.requireNonNull(description, "description");
    Objects.requireNonNull(arguments, "arguments");
    Objects.requireNonNull(work, "work");
    Given.required("The effect " + name, Objects.requireNonNull(policy, "policy"));
  }

  public static <A extends Record> ScheduledHandler of(
      String name, String description, Class<A> arguments, Work<A> work) {
    Objects.requireNonNull(work, "work");
    return new ScheduledHandler(
        name,
        description,
        ArgumentSchema.of(arguments),
        (flow, args) -> work.run(flow, Json.value(args, arguments)),
        Policy.DEFAULT);
  }

  /** Without arguments. */
  public static ScheduledHandler of(String name, String description, Work<ObjectNode> work) {
    return new ScheduledHandler(name, description, ArgumentSchema.nothing(), work, Policy.DEFAULT);
  }

  public ScheduledHandler timeout(Duration limit) {
    return new ScheduledHandler(name, description, arguments, work, policy.timeout(limit));
  }

  public ScheduledHandler retry(int attempts, Duration firstWait) {
    return new ScheduledHandler(
        name, description, arguments, work, policy.retry(Retry.of(attempts, firstWait)));
  }

  /**
   * Never repeated where its outcome is unknown: after an interruption or a timeout. Work that
   * failed is retried as {@link #retry} says.
   */
  public ScheduledHandler once() {
    return new ScheduledHandler(name, description, arguments, work, policy.asOnce());
  }
}
