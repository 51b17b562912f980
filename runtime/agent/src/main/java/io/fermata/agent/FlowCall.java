package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A flow that a model calls like a tool. Where the flow asks a person, the thread waits for the
 * answer; a restart changes nothing of that. The host has to know a flow tool of this name.
 *
 * @param approval what a person is asked before the flow begins, by the call's arguments; null if
 *     nobody is asked
 */
public record FlowCall(
    String name,
    String description,
    ArgumentSchema arguments,
    @Nullable Function<JsonNode, @Nullable String> approval)
    implements Offered {
  public FlowCall {
    Tool.named(name, "flow");
  }

  public static FlowCall of(String name, String description, ObjectNode schema) {
    return new FlowCall(name, description, ArgumentSchema.of(schema), null);
  }

  /** A person has to approve every call before the flow begins. */
  public FlowCall approval(String question) {
    return approval((JsonNode args) -> question);
  }

  /**
   * A person has to approve a call before the flow begins.
   *
   * @param question what the person is asked about a call with these arguments; null if the call
   *     needs no approval
   */
  public FlowCall approval(Function<JsonNode, @Nullable String> question) {
    return new FlowCall(name, description, arguments, question);
  }
}
