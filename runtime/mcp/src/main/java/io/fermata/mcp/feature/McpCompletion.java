package io.fermata.mcp.feature;

import java.util.List;
import java.util.Map;

/** Proposes values for an argument of a prompt or a variable of a template. */
@FunctionalInterface
public interface McpCompletion {
  /**
   * Returns proposals, the likeliest first.
   *
   * @param typed what the user has typed so far
   * @param others the arguments that have values already
   */
  List<String> complete(String typed, Map<String, String> others) throws Exception;
}
