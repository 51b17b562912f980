package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;

/**
 * What a call carries over from its earlier rounds.
 *
 * @param replies those that were taken, by the name they were asked under
 * @param fresh those of this round, unchecked
 * @param remembered what the handler wanted to have again
 */
public record RoundInputs(ObjectNode replies, ObjectNode fresh, JsonNode remembered) {
  public static RoundInputs none() {
    return of(Json.object());
  }

  static RoundInputs of(ObjectNode fresh) {
    return new RoundInputs(Json.object(), fresh, NullNode.getInstance());
  }

  /** What a client was given to keep, with what it replies. */
  static RoundInputs of(JsonNode kept, ObjectNode fresh) {
    JsonNode replies = kept.path("replies");
    return new RoundInputs(
        replies instanceof ObjectNode object ? object : Json.object(),
        fresh,
        kept.path("remembered"));
  }

  /** What a client is to keep until its next round. */
  public ObjectNode kept() {
    ObjectNode kept = Json.object().set("replies", replies);
    return kept.set("remembered", remembered);
  }
}
