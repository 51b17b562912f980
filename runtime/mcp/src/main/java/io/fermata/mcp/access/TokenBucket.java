package io.fermata.mcp.access;

/** Lets so many pass at once, and so many per second after that. */
final class TokenBucket {
  private static final double NANOS = 1e9;

  private final int burst;
  private final double perSecond;
  private double left;
  private long seen;

  TokenBucket(int burst, double perSecond, long now) {
    this.burst = burst;
    this.perSecond = perSecond;
    this.left = burst;
    this.seen = now;
  }

  /**
   * Lets so many pass, or none of them. More than the burst pass when it is full, and are owed.
   *
   * @return how many seconds there are to wait; 0 if they passed
   */
  synchronized double take(int count, long now) {
    fill(now);
    double missing = Math.min(count, burst) - left;
    if (missing > 0) {
      return missing / perSecond;
    }
    left -= count;
    return 0;
  }

  /** Whether it is as if nothing had ever passed. */
  synchronized boolean full(long now) {
    fill(now);
    return left >= burst;
  }

  private void fill(long now) {
    left = Math.min(burst, left + (now - seen) / NANOS * perSecond);
    seen = now;
  }
}
