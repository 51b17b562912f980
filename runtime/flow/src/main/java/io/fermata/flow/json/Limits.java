package io.fermata.flow.json;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * The bounds of one run. Everything a client can make large has one, and reaching it is a clear
 * error that leaves the run where it was.
 *
 * @param stateBytes the state as JSON
 * @param visitsPerRun nodes entered since the run last got an answer or a signal, or slept for a
 *     second at least
 * @param visitsPerCall nodes entered because of one call
 * @param depth nesting of what a client sends as {@code stateUpdates}
 */
public record Limits(int stateBytes, int visitsPerRun, int visitsPerCall, int depth) {
  public static final Limits DEFAULT = new Limits(256 * 1024, 10_000, 200, 32);

  /** Questions one node may ask, and suggestions one question may offer. */
  public static final int QUESTIONS = 32;

  public static final int SUGGESTIONS = 100;

  /** Violations one reply lists. */
  public static final int VIOLATIONS = 100;

  /** The longest wait: within it no moment is beyond what a journal can count. */
  public static final Duration TIME = Duration.ofDays(365_000);

  /** The longest time of a setting: nanoseconds count it, from any moment on. */
  public static final Duration CLOCK = Duration.ofDays(36_500);

  public Limits {
    if (stateBytes < 1 || visitsPerRun < 1 || visitsPerCall < 1 || depth < 1) {
      throw new IllegalArgumentException("Every limit must be at least 1");
    }
  }

  /**
   * What is wrong with a time that somebody waits for.
   *
   * @param what stands before it: "Node pay has the timeout"
   */
  public static List<String> passing(String what, Duration time) {
    return time.isZero() || time.isNegative()
        ? List.of(what + " " + time + "; give it a time that can pass")
        : bounded(what, time);
  }

  /** What is wrong with a time that may be none. */
  public static List<String> bounded(String what, Duration time) {
    return time.isNegative()
        ? List.of(what + " " + time + "; give it a time that can pass, or none")
        : bounded(what, time, TIME);
  }

  private static List<String> bounded(String what, Duration time, Duration most) {
    return time.compareTo(most) > 0
        ? List.of(what + " " + time + "; give it at most " + most.toDays() + " days")
        : List.of();
  }

  /**
   * Refuses a time that no clock can count.
   *
   * @throws IllegalArgumentException if it is one, with the name of the setting
   */
  public static void requireCountable(String setting, Duration time) {
    for (String wrong : bounded(setting + " is", time, CLOCK)) {
      throw new IllegalArgumentException(wrong);
    }
  }

  /** A timeout that a clock can count: the longest one for any beyond it. */
  public static Duration timeout(Duration timeout) {
    Objects.requireNonNull(timeout, "timeout");
    return timeout.compareTo(CLOCK) < 0 ? timeout : CLOCK;
  }
}
