package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;

/**
 * What a call has of the rounds before it.
 *
 * @param replies those that were taken, by the name they were asked under
 * @param fresh those of this round, unchecked
 * @param remembered what the handler wanted to have again
 */
record Inputs(ObjectNode replies, ObjectNode fresh, JsonNode remembered) {
  static Inputs none() {
    return new Inputs(Json.object(), Json.object(), NullNode.getInstance());
  }
}
