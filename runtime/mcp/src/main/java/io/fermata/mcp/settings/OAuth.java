package io.fermata.mcp.settings;

import io.fermata.mcp.feature.McpTool;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The OAuth 2.1 authorization server whose access tokens a server accepts.
 *
 * <pre>{@code
 * McpServer.serving(host)
 *     .oauth(OAuth.issuer("https://auth.example.com")
 *         .audience("https://flows.example.com/mcp")
 *         .scopes("flows")
 *         .scopesOf("refund", "refunds:write"))
 * }</pre>
 *
 * <p>A token is an unexpired JWT for the audience, signed with an asymmetric key of the issuer. The
 * principal is its {@code sub} at its issuer, as {@code https://auth.example.com#42}.
 */
public final class OAuth {
  /** The syntax of a scope (RFC 6749). */
  private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]{1,200}");

  private final String issuer;
  private final Set<String> audience;
  private final @Nullable String resource;
  private final @Nullable URI keys;
  private final Set<String> scopes;
  private final Map<String, Set<String>> scopesOf;

  private OAuth(
      String issuer,
      Set<String> audience,
      @Nullable String resource,
      @Nullable URI keys,
      Set<String> scopes,
      Map<String, Set<String>> scopesOf) {
    this.issuer = issuer;
    this.audience = audience;
    this.resource = resource;
    this.keys = keys;
    this.scopes = scopes;
    this.scopesOf = scopesOf;
  }

  /**
   * Accepts the tokens of an issuer, written exactly as in their {@code iss}. Its keys are found
   * through its metadata (RFC 8414 or OpenID Connect Discovery).
   */
  public static OAuth issuer(String issuer) {
    URI uri = TrustedUri.require("issuer", Objects.requireNonNull(issuer, "issuer"));
    if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
      throw new IllegalArgumentException(
          "The issuer must have no query and no fragment: " + issuer);
    }
    return new OAuth(issuer, Set.of(), null, null, Set.of(), Map.of());
  }

  /**
   * The accepted audiences: a token must name one of them in its {@code aud}. Use the address at
   * which clients reach this server, as {@code https://flows.example.com/mcp}: MCP clients request
   * tokens for that address.
   */
  public OAuth audience(String... accepted) {
    Set<String> all = new LinkedHashSet<>(List.of(accepted));
    if (all.isEmpty() || all.stream().anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("An audience must not be blank");
    }
    return new OAuth(issuer, all, resource, keys, scopes, scopesOf);
  }

  /**
   * The address at which clients reach this server, if the issuer has another name for it; the
   * first audience by default.
   */
  public OAuth resource(String uri) {
    return new OAuth(
        issuer, audience, Objects.requireNonNull(uri, "resource"), keys, scopes, scopesOf);
  }

  /** The address of the issuer's JSON Web Key Set, for issuers without metadata. */
  public OAuth keys(URI jwks) {
    TrustedUri.require("address of the keys", Objects.requireNonNull(jwks, "keys").toString());
    return new OAuth(issuer, audience, resource, jwks, scopes, scopesOf);
  }

  /** The scopes that every token needs. */
  public OAuth scopes(String... needed) {
    return new OAuth(issuer, audience, resource, keys, scopesIn(needed), scopesOf);
  }

  /**
   * The additional scopes that a token needs for a flow, an agent or a display tool, called as a
   * tool or through its threads. A plain tool declares its own with {@link McpTool#scopes}.
   */
  public OAuth scopesOf(String tool, String... needed) {
    Map<String, Set<String>> all = new LinkedHashMap<>(scopesOf);
    all.put(Objects.requireNonNull(tool, "tool"), scopesIn(needed));
    return new OAuth(issuer, audience, resource, keys, scopes, all);
  }

  public static Set<String> scopesIn(String... needed) {
    for (String scope : needed) {
      if (!SCOPE.matcher(Objects.requireNonNull(scope, "scope")).matches()) {
        throw new IllegalArgumentException(
            "A scope is 1 to 200 visible characters other than \" and \\, not '" + scope + "'");
      }
    }
    return Set.copyOf(List.of(needed));
  }

  public String issuer() {
    return issuer;
  }

  /**
   * The audiences that a token must name.
   *
   * @throws IllegalStateException if none is named: the server would accept the tokens of every
   *     other service of the issuer
   */
  public Set<String> audience() {
    if (audience.isEmpty()) {
      throw new IllegalStateException(
          "The tokens of %s have no audience: name the address of this server with audience(…)."
              .formatted(issuer));
    }
    return audience;
  }

  public @Nullable URI keys() {
    return keys;
  }

  public Set<String> scopes() {
    return scopes;
  }

  public Map<String, Set<String>> scopesOf() {
    return scopesOf;
  }

  /**
   * The address at which clients reach this server.
   *
   * @throws IllegalStateException if it is not a valid address
   */
  public URI resource() {
    String named = resource == null ? audience().iterator().next() : resource;
    try {
      URI uri = URI.create(named);
      if (uri.getHost() != null
          && uri.getRawFragment() == null
          && ("https".equals(uri.getScheme()) || "http".equals(uri.getScheme()))) {
        return uri;
      }
    } catch (IllegalArgumentException e) {
      // Reported below.
    }
    throw new IllegalStateException(
        "\"%s\" is not an address of this server: name the one that clients use with resource(…), as https://flows.example.com/mcp."
            .formatted(named));
  }
}
