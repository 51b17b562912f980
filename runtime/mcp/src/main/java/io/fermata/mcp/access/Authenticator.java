package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Authenticates callers by API key or access token. Without keys and without an issuer, every
 * caller is the same local principal.
 */
public final class Authenticator {
  private static final String SCHEME = "Bearer ";
  private static final CompletionStage<AuthenticatedCaller> LOCAL =
      CompletableFuture.completedFuture(AuthenticatedCaller.LOCAL);

  private final ApiKeys keys;
  private final @Nullable AccessTokens tokens;
  private final AuthChallenge challenge;

  public Authenticator(ApiKeys keys, @Nullable AccessTokens tokens, AuthChallenge challenge) {
    this.keys = keys;
    this.tokens = tokens;
    this.challenge = challenge;
  }

  /**
   * The caller that the {@code Authorization} headers authenticate; fails with a refusal if they
   * authenticate nobody.
   */
  public CompletionStage<AuthenticatedCaller> of(List<String> authorization) {
    if (keys.isEmpty() && tokens == null) {
      return LOCAL;
    } else if (authorization.isEmpty()) {
      return CompletableFuture.failedFuture(
          challenge.missing("The request has no key or token. " + nextStep()));
    } else if (authorization.size() > 1) {
      return CompletableFuture.failedFuture(
          RpcException.http(400, "A request must have one Authorization header."));
    }
    String header = authorization.get(0);
    if (!header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
      return CompletableFuture.failedFuture(
          challenge.invalid("The Authorization is not of the scheme Bearer. " + nextStep(), null));
    }
    String presented = header.substring(SCHEME.length()).strip();
    AuthenticatedCaller known = keys.caller(presented);
    if (known != null) {
      return CompletableFuture.completedFuture(known);
    } else if (tokens == null) {
      return CompletableFuture.failedFuture(
          challenge.invalid("The key is unknown. " + nextStep(), null));
    }
    return tokens.caller(presented);
  }

  private String nextStep() {
    return tokens == null
        ? "Send a known API key: Authorization: Bearer <key>"
        : "Send an access token of " + tokens.issuer() + ": Authorization: Bearer <token>";
  }

  /**
   * Returns the caller, if it has the scopes that every call needs.
   *
   * @throws RpcException if the caller lacks one of them
   */
  public AuthenticatedCaller admitted(AuthenticatedCaller caller) {
    Set<String> needed = challenge.scopes();
    if (!caller.hasScopes(needed)) {
      throw challenge.lacking(needed);
    }
    return caller;
  }
}
