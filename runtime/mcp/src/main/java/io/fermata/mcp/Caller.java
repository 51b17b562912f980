package io.fermata.mcp;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Who calls, and what it may do.
 *
 * @param scopes what its token allows; null where nothing was said about that, which is everything
 * @param until when its token ends, in milliseconds
 */
record Caller(String principal, @Nullable Set<String> scopes, long until) {
  private static final long FOREVER = Long.MAX_VALUE;

  /** Whoever calls where nobody is asked who it is. */
  static final Caller LOCAL = trusted("local");

  /** One that may do everything. */
  static Caller trusted(String principal) {
    return new Caller(principal, null, FOREVER);
  }

  /** Whether its token has ended meanwhile. */
  boolean over() {
    return until <= System.currentTimeMillis();
  }

  /** Completes what must not go on when its token has ended. */
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
