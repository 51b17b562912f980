package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Objects;

/** A message of a prompt. */
public final class McpMessage {
  private final ObjectNode json;

  private McpMessage(String role, McpContent content) {
    this.json =
        Json.object()
            .put("role", role)
            .set("content", Objects.requireNonNull(content, "content").json());
  }

  /** A message of the user. */
  public static McpMessage user(String text) {
    return user(McpContent.text(text));
  }

  public static McpMessage user(McpContent content) {
    return new McpMessage("user", content);
  }

  /** A message of the assistant. */
  public static McpMessage assistant(String text) {
    return assistant(McpContent.text(text));
  }

  public static McpMessage assistant(McpContent content) {
    return new McpMessage("assistant", content);
  }

  public ObjectNode json() {
    return json;
  }
}
