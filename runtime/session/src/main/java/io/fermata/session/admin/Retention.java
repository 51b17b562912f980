package io.fermata.session.admin;

import java.time.Duration;
import java.util.Objects;

/**
 * How long the store keeps ended runs. A change applies to runs that end afterwards.
 *
 * @param journal how long the journal of a run is kept after its end, for audit and replay
 * @param end how long the end of a run and its last reply are kept, for repeated calls; at least as
 *     long as the journal
 */
public record Retention(Duration journal, Duration end) {

  /** Deletes the journal when a run ends, and keeps its end for 30 days. */
  public static final Retention DEFAULT = new Retention(Duration.ZERO, Duration.ofDays(30));

  /** The minimum time for which the end of a task can be fetched. */
  static final Duration LEAST_OF_TASKS = Duration.ofHours(1);

  public Retention {
    Objects.requireNonNull(end, "end");
    if (journal.isNegative() || end.isNegative()) {
      throw new IllegalArgumentException(
          "A retention must not be negative, neither for journal nor for end");
    }
    end = end.compareTo(journal) < 0 ? journal : end;
  }

  /** Keeps journals for a time after the end of their runs. */
  public static Retention ofJournals(Duration journal) {
    return new Retention(journal, DEFAULT.end());
  }

  /** A copy with another retention of ends. */
  public Retention knowingEndsFor(Duration time) {
    return new Retention(journal, time);
  }

  public long keptUntil(long ended) {
    return later(ended, journal);
  }

  public long knownUntil(long ended) {
    return later(ended, end);
  }

  /** Until when the end of a task is kept. */
  public long taskKnownUntil(long ended) {
    return Math.max(knownUntil(ended), later(ended, LEAST_OF_TASKS));
  }

  private static long later(long at, Duration time) {
    try {
      return Math.addExact(at, time.toMillis());
    } catch (ArithmeticException never) {
      return Long.MAX_VALUE;
    }
  }
}
