package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.OAuth;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The scopes that a token needs, by tool.
 *
 * @param ofHost the scopes of flows, agents and display tools, by name
 * @param audit gets a line for each caller who lacks one
 */
public record ToolScopes(Map<String, Set<String>> ofHost, AuthChallenge challenge, AuditLog audit) {
  /** No tool needs a scope. */
  public static final ToolScopes NONE =
      new ToolScopes(
          Map.of(),
          new AuthChallenge(null, Set.of()),
          // Nobody lacks a scope where there are none.
          new AuditLog(() -> "-", System::nanoTime));

  /**
   * Those that the settings name.
   *
   * @param metadata the address of the metadata of the protected resource
   */
  public static ToolScopes of(OAuth oauth, String metadata, AuditLog audit) {
    return new ToolScopes(oauth.scopesOf(), new AuthChallenge(metadata, oauth.scopes()), audit);
  }

  /**
   * Requires that the settings name no tool that is not there.
   *
   * @param toolsOfHost the names of flows, agents and display tools
   * @throws IllegalArgumentException if they do
   */
  public static void requireKnown(OAuth oauth, Set<String> toolsOfHost) {
    for (String named : oauth.scopesOf().keySet()) {
      if (!toolsOfHost.contains(named)) {
        throw new IllegalArgumentException(
            "scopesOf names \"%s\", which is not a flow, an agent or a display tool of this server"
                .formatted(named));
      }
    }
  }

  /**
   * Requires the scopes of a tool.
   *
   * @throws RpcException if a caller's token does not allow it to use a flow, an agent or a display
   *     tool
   */
  public void require(String name, AuthenticatedCaller caller) {
    require(name, ofHost.getOrDefault(name, Set.of()), caller);
  }

  /**
   * Requires scopes for a tool.
   *
   * @throws RpcException if a caller's token does not have these scopes
   */
  public void require(String name, Set<String> needed, AuthenticatedCaller caller) {
    if (!caller.hasScopes(needed)) {
      audit.refused(caller.principal(), "use", name, "insufficient_scope");
      throw challenge.lacking(needed);
    }
  }

  /** The scopes of all tools of the host together. */
  public Set<String> all() {
    return ofHost.values().stream().flatMap(Set::stream).collect(Collectors.toUnmodifiableSet());
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
