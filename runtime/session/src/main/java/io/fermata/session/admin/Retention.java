package io.fermata.session.admin;

import java.time.Duration;
import java.util.Objects;

/**
 * How long the store keeps what is over. What a run was given when it ended stays with it: a change
 * applies to the runs that end from then on.
 *
 * @param journal how long the journal of a run is kept after its end, for audit and replay
 * @param end how long it is known after its end that a run has ended, and what repeated calls are
 *     told; never shorter than the journal is kept
 */
public record Retention(Duration journal, Duration end) {

  /** Keeps nothing of a run that has ended but that it has, for 30 days. */
  public static final Retention DEFAULT = new Retention(Duration.ZERO, Duration.ofDays(30));

  /** How long the end of a task can be fetched at least, whatever a host forgets sooner. */
  static final Duration LEAST_OF_TASKS = Duration.ofHours(1);

  public Retention {
    Objects.requireNonNull(end, "end");
    if (journal.isNegative() || end.isNegative()) {
      throw new IllegalArgumentException(
          "What is over is kept for a time that can pass, or for none: journal and end must not be"
              + " negative");
    }
    end = end.compareTo(journal) < 0 ? journal : end;
  }

  /** Keeps journals for a time after the end of their runs. */
  public static Retention ofJournals(Duration journal) {
    return new Retention(journal, DEFAULT.end());
  }

  /** The same, except for how long it is known that a run has ended. */
  public Retention knowingEndsFor(Duration time) {
    return new Retention(journal, time);
  }

  public long keptUntil(long ended) {
    return later(ended, journal);
  }

  public long knownUntil(long ended) {
    return later(ended, end);
  }

  /** Until when the end of a run is known that was handed out as a task. */
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
