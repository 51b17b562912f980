package io.fermata.mcp;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Counts something per principal, up to a limit. */
final class Tally {
  private final int max;
  private final Map<String, Integer> ofPrincipal = new ConcurrentHashMap<>();

  Tally(int max) {
    this.max = max;
  }

  int max() {
    return max;
  }

  /** Adds so many, if the principal then has no more than it may. */
  boolean tryEnter(String principal, int count) {
    boolean entered = ofPrincipal.merge(principal, count, Integer::sum) <= max;
    if (!entered) {
      leave(principal, count);
    }
    return entered;
  }

  void leave(String principal, int count) {
    ofPrincipal.computeIfPresent(principal, (who, has) -> has == count ? null : has - count);
  }
}
