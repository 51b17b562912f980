package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;

/** What a decision may look at. */
interface Facts {
  /** The value at a path; a missing node if there is none. */
  JsonNode value(String path);

  /** How often a node was entered since its flow began. */
  int visits(String node);

  /** What is known at a place, in the terms of the flow that the place belongs to. */
  static Facts at(RunState state, Place place, Scope<?> scope) {
    String prefix = scope.prefix(place);
    JsonNode data = state.memory(place.branch()).data();
    Set<String> nodes = scope.flow().nodeIds();
    return new Facts() {
      @Override
      public JsonNode value(String path) {
        return Paths.get(data, prefix + path);
      }

      @Override
      public int visits(String node) {
        if (!nodes.contains(node)) {
          throw new IllegalArgumentException(
              "There is no node "
                  + node
                  + Nearest.to(node, nodes).map(n -> "; did you mean " + n + "?").orElse(""));
        }
        return state.passes(place.branch(), scope.node(node));
      }
    };
  }
}
