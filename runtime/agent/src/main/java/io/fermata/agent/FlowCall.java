package io.fermata.agent;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.schema.ArgumentSchema;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A flow that a model calls like a tool. If the flow asks a person, the thread waits for the
 * answer, also across restarts. The host must have a flow tool of this name.
 *
 * @param approval the approval question for a call's arguments; null for no approval
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

  /** A person must approve every call before the flow starts. */
  public FlowCall approval(String question) {
    return approval((JsonNode args) -> question);
  }

  /**
   * A person must approve a call before the flow starts.
   *
   * @param question the question for a call's arguments; null if the call needs no approval
   */
  public FlowCall approval(Function<JsonNode, @Nullable String> question) {
    return new FlowCall(name, description, arguments, question);
  }
}
