package io.fermata.agent;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.ArgumentSchema;

/**
 * A flow that a model calls like a tool. Where the flow asks a person, the thread waits for the
 * answer; a restart changes nothing of that. The host has to know a flow tool of this name.
 */
public record FlowCall(String name, String description, ArgumentSchema arguments)
    implements Offered {
  public FlowCall {
    Tool.named(name, "flow");
  }

  public static FlowCall of(String name, String description, ObjectNode schema) {
    return new FlowCall(name, description, ArgumentSchema.of(schema));
  }
}
