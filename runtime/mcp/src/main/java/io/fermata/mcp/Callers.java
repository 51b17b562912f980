package io.fermata.mcp;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Authenticates callers by API key or access token. Without keys and without an issuer, every
 * caller is the same local principal.
 */
final class Callers {
  private static final String SCHEME = "Bearer ";
  private static final CompletionStage<Caller> LOCAL =
      CompletableFuture.completedFuture(Caller.LOCAL);

  private final Keys keys;
  private final @Nullable Tokens tokens;
  private final Challenge challenge;

  Callers(Keys keys, @Nullable Tokens tokens, Challenge challenge) {
    this.keys = keys;
    this.tokens = tokens;
    this.challenge = challenge;
  }

  /** Who presents these headers {@code Authorization}; fails with a refusal if nobody we know. */
  CompletionStage<Caller> of(List<String> authorization) {
    if (keys.isEmpty() && tokens == null) {
      return LOCAL;
    } else if (authorization.isEmpty()) {
      return CompletableFuture.failedFuture(challenge.missing(next()));
    } else if (authorization.size() > 1) {
      return CompletableFuture.failedFuture(
          Refusal.transport(400, "A request must have one Authorization header."));
    }
    String header = authorization.get(0);
    if (!header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())) {
      return CompletableFuture.failedFuture(challenge.invalid(next(), null));
    }
    String presented = header.substring(SCHEME.length()).strip();
    Caller known = keys.caller(presented);
    if (known != null) {
      return CompletableFuture.completedFuture(known);
    } else if (tokens == null) {
      return CompletableFuture.failedFuture(challenge.invalid(next(), null));
    }
    return tokens.caller(presented);
  }

  private String next() {
    return tokens == null
        ? "Send a known API key: Authorization: Bearer <key>"
        : "Send an access token of " + tokens.issuer() + ": Authorization: Bearer <token>";
  }

  /**
   * @throws Refusal if the caller lacks a scope that everybody needs
   */
  Caller admitted(Caller caller) {
    Set<String> needed = challenge.scopes();
    if (!caller.may(needed)) {
      throw challenge.lacking(needed);
    }
    return caller;
  }
}
