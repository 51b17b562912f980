package io.fermata.session.admin;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A run in a list, as it was within the last second. Times are milliseconds of the epoch.
 *
 * @param session the session it belongs to, as its client names it
 * @param changedAt when something happened last; of a run that has ended, when it did
 * @param since since when it has this status
 * @param waitsFor what it waits for, or what stopped it
 * @param tags what its steps marked it with
 */
public record RunInfo(
    String runId,
    String flow,
    int version,
    String principal,
    String session,
    Status status,
    long startedAt,
    long changedAt,
    long since,
    List<Wait> waitsFor,
    List<String> tags) {

  /** How a run stands. */
  public enum Status {
    /** A handler works for it, or a failed one is to be tried again. */
    WORKING,
    /** It waits for somebody, a signal or a moment. */
    WAITING,
    /** A step of it failed for good: it goes on when somebody tries again, or decides. */
    STOPPED,
    COMPLETED,
    FAILED,
    CANCELLED,
    /** Another run took its place in the session. */
    ABANDONED,
    /** Nobody touched it for longer than its flow allows. */
    EXPIRED;

    /** Whether the run goes on, or can. */
    public boolean live() {
      return this == WORKING || this == WAITING || this == STOPPED;
    }
  }

  /**
   * Something that a run waits for.
   *
   * @param step the node that waits
   * @param what the field that is asked, the tool that shows a widget, the signal, the moment, or
   *     the code of the error that stopped the step
   */
  public record Wait(String step, Kind kind, String what) {
    /** What kind of thing is waited for. */
    public enum Kind {
      ANSWER,
      WIDGET,
      SIGNAL,
      TIME,
      REPAIR
    }
  }

  public RunInfo {
    waitsFor = List.copyOf(waitsFor);
    tags = List.copyOf(tags);
  }

  /** Since when the run waits; null if it does not. */
  public @Nullable Long waitingSince() {
    return status == Status.WAITING ? Long.valueOf(since) : null;
  }

  /** When the run ended; null if it did not. */
  public @Nullable Long endedAt() {
    return status.live() ? null : Long.valueOf(changedAt);
  }
}
