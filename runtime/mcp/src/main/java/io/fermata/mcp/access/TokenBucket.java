package io.fermata.mcp.access;

/** A token bucket: permits a burst, and a rate per second after that. */
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
   * Takes all of these tokens, or none. More than the burst can be taken from a full bucket, which
   * is in debt then.
   *
   * @return how many seconds to wait; 0 if the tokens were taken
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

  /** Whether it is as full as a new one. */
  synchronized boolean full(long now) {
    fill(now);
    return left >= burst;
  }

  private void fill(long now) {
    left = Math.min(burst, left + (now - seen) / NANOS * perSecond);
    seen = now;
  }
}
