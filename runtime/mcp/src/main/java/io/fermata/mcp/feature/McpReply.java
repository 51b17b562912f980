package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;

/**
 * What a client replied to a {@link McpAsk}.
 *
 * @param json the reply as the protocol has it
 */
public record McpReply(JsonNode json) {
  /** Whether the user filled in the form or opened the page, rather than saying no. */
  public boolean accepted() {
    return action().equals("accept");
  }

  /** What the user did: {@code accept}, {@code decline} or {@code cancel}; empty if not asked. */
  public String action() {
    return json.path("action").asText();
  }

  /** What the user filled in, which fits the form; missing if the user did not accept. */
  public JsonNode content() {
    return accepted() ? json.path("content") : MissingNode.getInstance();
  }

  /** What the model said, as far as it is text. */
  public String text() {
    StringBuilder said = new StringBuilder();
    JsonNode content = json.path("content");
    if (content.isArray()) {
      content.forEach(piece -> said.append(piece.path("text").asText()));
    } else {
      said.append(content.path("text").asText());
    }
    return said.toString();
  }
}
