package io.fermata.mcp.feature;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.fermata.flow.json.Json;

/**
 * The reply of a client to a {@link McpAsk}.
 *
 * @param json the reply as the protocol defines it
 */
public record McpReply(JsonNode json) {
  /** Whether the user filled in the form or agreed to open the page. */
  public boolean accepted() {
    return action().equals("accept");
  }

  /**
   * What the user did: {@code accept}, {@code decline} or {@code cancel}; empty if the user was not
   * asked.
   */
  public String action() {
    return json.path("action").asText();
  }

  /**
   * What the user filled in, which fits the form; missing if the user did not accept. Clients may
   * leave out the content of a form in which nothing was filled in.
   */
  public JsonNode content() {
    JsonNode filled = json.hasNonNull("content") ? json.path("content") : Json.object();
    return accepted() ? filled : MissingNode.getInstance();
  }

  /** The text of the model's reply. */
  public String text() {
    StringBuilder text = new StringBuilder();
    JsonNode content = json.path("content");
    if (content.isArray()) {
      content.forEach(piece -> text.append(piece.path("text").asText()));
    } else {
      text.append(content.path("text").asText());
    }
    return text.toString();
  }
}
