package io.fermata.session.admin;

import java.util.Map;

/** How long a host keeps what is over, for each of its flows. */
public record Retentions(Retention usual, Map<String, Retention> ofFlows) {

  public Retentions {
    ofFlows = Map.copyOf(ofFlows);
  }

  public Retention of(String flow) {
    return ofFlows.getOrDefault(flow, usual);
  }
}
