package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import java.util.Map;
import java.util.Set;

/**
 * The scopes that a token needs, by tool.
 *
 * @param ofHost the scopes of flows, agents and display tools, by name
 */
public record ToolScopes(Map<String, Set<String>> ofHost, AuthChallenge challenge) {
  /** No tool needs a scope. */
  public static final ToolScopes NONE = new ToolScopes(Map.of(), new AuthChallenge(null, Set.of()));

  /**
   * Requires the scopes of a tool.
   *
   * @throws RpcException if a caller's token does not allow it to use a flow, an agent or a display
   *     tool
   */
  public void require(String name, AuthenticatedCaller caller) {
    require(ofHost.getOrDefault(name, Set.of()), caller);
  }

  /**
   * Requires scopes.
   *
   * @throws RpcException if a caller's token does not have these scopes
   */
  public void require(Set<String> needed, AuthenticatedCaller caller) {
    if (!caller.hasScopes(needed)) {
      throw challenge.lacking(needed);
    }
  }

  /** Whether a caller may use a flow, an agent or a display tool. */
  public boolean allow(String name, AuthenticatedCaller caller) {
    return caller.hasScopes(ofHost.getOrDefault(name, Set.of()));
  }

  /** Whether scopes restrict which tools of the host a caller may use. */
  public boolean restrict(AuthenticatedCaller caller) {
    return caller.scopes() != null && !ofHost.isEmpty();
  }
}
