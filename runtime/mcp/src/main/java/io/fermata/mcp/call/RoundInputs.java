package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.Set;

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

  /**
   * The state that a client kept, with its new replies. What it was not asked does not count: it
   * could replace a reply that the handler has relied on.
   */
  static RoundInputs of(JsonNode kept, ObjectNode all) {
    JsonNode replies = kept.path("replies");
    ObjectNode fresh = Json.object();
    for (JsonNode key : kept.path("asked")) {
      JsonNode reply = all.get(key.textValue());
      if (reply != null) {
        fresh.set(key.textValue(), reply);
      }
    }
    return new RoundInputs(
        replies instanceof ObjectNode object ? object : Json.object(),
        fresh,
        kept.path("remembered"));
  }

  /**
   * The state that a client keeps until its next round.
   *
   * @param asked the keys of the questions that the client is asked
   */
  public ObjectNode kept(Set<String> asked) {
    ObjectNode kept = Json.object().set("replies", replies);
    asked.forEach(kept.putArray("asked")::add);
    return kept.set("remembered", remembered);
  }
}
