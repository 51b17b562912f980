package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Rejects callers with a {@code WWW-Authenticate} header that says how to authenticate.
 *
 * @param metadata the address of this server's metadata; null without an issuer of tokens
 * @param scopes the scopes that every caller needs
 */
public record AuthChallenge(@Nullable String metadata, Set<String> scopes) {
  private static final CharSequence HEADER = "www-authenticate";

  /** The request has no credentials. */
  RpcException missing(String reason) {
    return refusal(401, reason, null, scopes, null);
  }

  /**
   * The credentials are invalid.
   *
   * @param why the reason, without quotes; null if there is none to give
   */
  RpcException invalid(String reason, @Nullable String why) {
    return refusal(401, reason, "invalid_token", scopes, why);
  }

  /** The credentials are valid but lack a scope. */
  RpcException lacking(Set<String> needed) {
    Set<String> all = new TreeSet<>(scopes);
    all.addAll(needed);
    return refusal(
        403,
        "The token lacks a scope. Get one with these scopes: " + String.join(" ", all),
        "insufficient_scope",
        all,
        null);
  }

  private RpcException refusal(
      int status,
      String reason,
      @Nullable String error,
      Set<String> wanted,
      @Nullable String description) {
    List<String> parameters = new ArrayList<>();
    add(parameters, "resource_metadata", metadata);
    add(parameters, "error", error);
    add(parameters, "error_description", description);
    add(parameters, "scope", wanted.isEmpty() ? null : String.join(" ", new TreeSet<>(wanted)));
    String header = parameters.isEmpty() ? "Bearer" : "Bearer " + String.join(", ", parameters);
    return RpcException.http(status, reason).with(HEADER, header);
  }

  private static void add(List<String> parameters, String name, @Nullable String value) {
    if (value != null) {
      parameters.add(name + "=\"" + value + "\"");
    }
  }
}
