package io.fermata.flow.route;

import com.fasterxml.jackson.databind.JsonNode;

/** What a decision may look at. */
public interface Facts {
  /** The value at a path; a missing node if there is none. */
  JsonNode value(String path);

  /** How often a node was entered since its flow began. */
  int visits(String node);
}
