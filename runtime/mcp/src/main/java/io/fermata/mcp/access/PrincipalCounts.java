package io.fermata.mcp.access;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Counts something per principal, up to a limit. */
public final class PrincipalCounts {
  private final int max;
  private final Map<String, Integer> ofPrincipal = new ConcurrentHashMap<>();

  public PrincipalCounts(int max) {
    this.max = max;
  }

  public int max() {
    return max;
  }

  /** Adds to the count of a principal, unless it would exceed the limit. */
  public boolean tryEnter(String principal, int count) {
    boolean entered = ofPrincipal.merge(principal, count, Integer::sum) <= max;
    if (!entered) {
      leave(principal, count);
    }
    return entered;
  }

  public void leave(String principal, int count) {
    ofPrincipal.computeIfPresent(principal, (who, has) -> has == count ? null : has - count);
  }
}
