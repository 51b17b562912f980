package io.fermata.session.observe;

import java.time.Instant;

/** Sees what the schedules of a host wait for. For tests. */
@FunctionalInterface
public interface ScheduleObserver {
  ScheduleObserver NONE = (schedule, next, look) -> {};

  /**
   * A schedule has started the runs of all earlier occurrences, and waits.
   *
   * @param schedule its name
   * @param next its next occurrence, or the last moment of all; until the schedule has read its
   *     journal, the start of its host
   * @param look lets it look at the clock at once
   */
  void waits(String schedule, Instant next, Runnable look);
}
