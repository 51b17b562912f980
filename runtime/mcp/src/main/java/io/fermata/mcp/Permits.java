package io.fermata.mcp;

import java.util.Map;
import java.util.Set;

/**
 * The scopes that a token needs, by tool.
 *
 * @param ofHost those of flows, agents and display tools, by their names
 */
record Permits(Map<String, Set<String>> ofHost, Challenge challenge) {
  /** Where nothing needs a scope. */
  static final Permits NONE = new Permits(Map.of(), new Challenge(null, Set.of()));

  /**
   * @throws Refusal if a caller's token does not allow it to use a flow, an agent or a display tool
   */
  void require(String name, Caller caller) {
    require(ofHost.getOrDefault(name, Set.of()), caller);
  }

  /**
   * @throws Refusal if a caller's token does not have these scopes
   */
  void require(Set<String> needed, Caller caller) {
    if (!caller.may(needed)) {
      throw challenge.lacking(needed);
    }
  }

  /** Whether a caller may use a flow, an agent or a display tool. */
  boolean allow(String name, Caller caller) {
    return caller.may(ofHost.getOrDefault(name, Set.of()));
  }

  /** Whether it depends on the flow or the agent what a caller may do. */
  boolean concerns(Caller caller) {
    return caller.scopes() != null && !ofHost.isEmpty();
  }
}
