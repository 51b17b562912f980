package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;

/**
 * The inputs of one round of a call.
 *
 * @param replies the replies of earlier rounds, by the keys of the questions
 * @param fresh the replies of this round, unchecked
 * @param remembered the value that the handler kept
 */
public record RoundInputs(ObjectNode replies, ObjectNode fresh, JsonNode remembered) {
  public static RoundInputs none() {
    return of(Json.object());
  }

  static RoundInputs of(ObjectNode fresh) {
    return new RoundInputs(Json.object(), fresh, NullNode.getInstance());
  }

  /** The state that a client kept, with its new replies. */
  static RoundInputs of(JsonNode kept, ObjectNode fresh) {
    JsonNode replies = kept.path("replies");
    return new RoundInputs(
        replies instanceof ObjectNode object ? object : Json.object(),
        fresh,
        kept.path("remembered"));
  }

  /** The state that a client keeps until its next round. */
  public ObjectNode kept() {
    ObjectNode kept = Json.object().set("replies", replies);
    return kept.set("remembered", remembered);
  }
}
