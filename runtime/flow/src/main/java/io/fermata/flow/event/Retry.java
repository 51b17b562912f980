package io.fermata.flow.event;

import java.time.Duration;

/**
 * How often a failed effect is tried, and how long the run waits in between. The waits are
 * journaled, so they survive a restart.
 *
 * @param attempts how often in all, the first included
 * @param first the wait after the first failure; it doubles after each further one
 * @param longest the bound of the doubling
 */
public record Retry(int attempts, Duration first, Duration longest) {
  /** One attempt. */
  public static final Retry NEVER = new Retry(1, Duration.ZERO, Duration.ZERO);

  public Retry {
    if (attempts < 1) {
      throw new IllegalArgumentException(
          "A retry of %s attempts makes none; give at least 1, the first included"
              .formatted(attempts));
    }
    if (first.isNegative() || longest.compareTo(first) < 0) {
      throw new IllegalArgumentException(
          "A retry waits %s first and %s at most; give times of which the second is no shorter"
              .formatted(first, longest));
    }
  }

  /** Waits {@code first}, then twice that, and so on up to a minute. */
  public static Retry of(int attempts, Duration first) {
    Duration minute = Duration.ofMinutes(1);
    return new Retry(attempts, first, first.compareTo(minute) > 0 ? first : minute);
  }

  /** The wait after the given attempt failed. */
  public Duration after(int attempt) {
    Duration wait = first;
    for (int i = 1; i < attempt && wait.compareTo(longest) < 0; i++) {
      wait = wait.multipliedBy(2);
    }
    return wait.compareTo(longest) < 0 ? wait : longest;
  }
}
