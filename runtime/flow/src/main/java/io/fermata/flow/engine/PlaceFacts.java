package io.fermata.flow.engine;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.FieldScope;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.RunState;
import io.fermata.flow.json.Nearest;
import io.fermata.flow.json.Paths;
import io.fermata.flow.route.Facts;
import java.util.Set;

/** What is known at a place, in the terms of the flow that the place belongs to. */
public record PlaceFacts(RunState state, Place place, FieldScope<?> scope) implements Facts {
  @Override
  public JsonNode value(String path) {
    return Paths.get(state.memory(place.branch()).data(), scope.prefix(place) + path);
  }

  @Override
  public int visits(String node) {
    Set<String> nodes = scope.flow().nodeIds();
    if (!nodes.contains(node)) {
      throw new IllegalArgumentException(
          "There is no node " + node + Nearest.suggestion(node, nodes));
    }
    return state.passes(place.branch(), scope.node(node));
  }
}
