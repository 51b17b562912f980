package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import org.jspecify.annotations.Nullable;

/**
 * Progress of a node during a call: a named event, or a piece of streamed text.
 *
 * @param node the node
 * @param name the name of the event; {@link #TEXT} if it is a piece of text
 * @param payload the payload; it must not be modified
 */
public record ToolProgress(String node, String name, JsonNode payload) {
  /** The name of a piece of text, whose payload is the text. */
  public static final String TEXT = "text";

  /** A piece of streamed text. The pieces of a node are concatenated in order. */
  public static ToolProgress text(String node, String piece) {
    return new ToolProgress(node, TEXT, TextNode.valueOf(piece));
  }

  /** The piece of text, or null if this is an event. */
  public @Nullable String piece() {
    return name.equals(TEXT) ? payload.textValue() : null;
  }
}
