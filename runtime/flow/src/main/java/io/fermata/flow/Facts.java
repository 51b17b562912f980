package io.fermata.flow;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;

/** What a decision may look at. */
interface Facts {
  /** The value at a path; a missing node if there is none. */
  JsonNode value(String path);

  /** How often the run has entered a node. */
  int visits(String node);

  /** A run's state, in a flow with these nodes. */
  static Facts of(RunState state, Set<String> nodes) {
    return new Facts() {
      @Override
      public JsonNode value(String path) {
        return Paths.get(state.data(), path);
      }

      @Override
      public int visits(String node) {
        if (!nodes.contains(node)) {
          throw new IllegalArgumentException(
              "There is no node "
                  + node
                  + Nearest.to(node, nodes).map(n -> "; did you mean " + n + "?").orElse(""));
        }
        return state.visits().getOrDefault(node, 0);
      }
    };
  }
}
