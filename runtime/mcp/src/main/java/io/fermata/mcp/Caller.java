package io.fermata.mcp;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An authenticated caller and its scopes.
 *
 * @param scopes the scopes of its token; null for a caller that may do everything
 * @param until when its token expires, in milliseconds
 */
record Caller(String principal, @Nullable Set<String> scopes, long until) {
  private static final long FOREVER = Long.MAX_VALUE;

  /** The caller of a server without authentication. */
  static final Caller LOCAL = trusted("local");

  /** A caller that needs no scopes. */
  static Caller trusted(String principal) {
    return new Caller(principal, null, FOREVER);
  }

  /** Whether its token has expired. */
  boolean over() {
    return until <= System.currentTimeMillis();
  }

  /** Completes a future when the token expires. */
  void endWithToken(CompletableFuture<Void> ended) {
    if (until != FOREVER) {
      long left = until - System.currentTimeMillis();
      ended.completeOnTimeout(null, Math.max(0, left), TimeUnit.MILLISECONDS);
    }
  }

  boolean may(Set<String> needed) {
    return scopes == null || scopes.containsAll(needed);
  }
}
