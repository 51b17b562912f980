package io.fermata.mcp.access;

import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An authenticated caller and its scopes.
 *
 * @param scopes the scopes of its token; null for a caller that may do everything
 * @param expiresAt when its token expires, in milliseconds
 */
public record AuthenticatedCaller(String principal, @Nullable Set<String> scopes, long expiresAt) {
  private static final long FOREVER = Long.MAX_VALUE;

  /** The caller of a server without authentication. */
  public static final AuthenticatedCaller LOCAL = trusted("local");

  /** A caller that needs no scopes. */
  public static AuthenticatedCaller trusted(String principal) {
    return new AuthenticatedCaller(principal, null, FOREVER);
  }

  /**
   * One whose token was checked elsewhere, moments ago.
   *
   * @param scopes null for a caller that may do everything
   */
  public static AuthenticatedCaller checked(String principal, @Nullable Set<String> scopes) {
    return new AuthenticatedCaller(principal, scopes, FOREVER);
  }

  /** Completes a future when the token expires. */
  public void completeAtExpiry(CompletableFuture<Void> ended) {
    if (expiresAt != FOREVER) {
      long left = expiresAt - System.currentTimeMillis();
      ended.completeOnTimeout(null, Math.max(0, left), TimeUnit.MILLISECONDS);
    }
  }

  public boolean hasScopes(Set<String> needed) {
    return scopes == null || scopes.containsAll(needed);
  }
}
