package io.fermata.session.runs;

import io.fermata.session.admin.Retention;
import java.util.Map;

/** The retention of a host, and those of single flows. */
public record Retentions(Retention usual, Map<String, Retention> ofFlows) {

  public Retentions {
    ofFlows = Map.copyOf(ofFlows);
  }

  public Retention of(String flow) {
    return ofFlows.getOrDefault(flow, usual);
  }
}
