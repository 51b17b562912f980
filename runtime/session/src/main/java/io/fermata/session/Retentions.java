package io.fermata.session;

import java.util.Map;

/** How long a host keeps what is over, for each of its flows. */
record Retentions(Retention usual, Map<String, Retention> ofFlows) {

  Retentions {
    ofFlows = Map.copyOf(ofFlows);
  }

  Retention of(String flow) {
    return ofFlows.getOrDefault(flow, usual);
  }
}
