package io.fermata.session.run;

import io.fermata.flow.event.ErrorCode;
import io.fermata.flow.event.Event;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.RunChange;
import java.util.List;
import java.util.Map;

/** Reports the changes of runs to telemetry. */
final class RunChanges {
  private static final Map<Class<?>, RunChange> CHANGES =
      Map.of(
          Event.Started.class, RunChange.BEGUN,
          Event.ForkedFrom.class, RunChange.BEGUN,
          Event.Asked.class, RunChange.PAUSED,
          Event.Shown.class, RunChange.PAUSED,
          Event.Stopped.class, RunChange.STOPPED,
          Event.Completed.class, RunChange.COMPLETED,
          Event.Failed.class, RunChange.FAILED,
          Event.Cancelled.class, RunChange.CANCELLED,
          Event.Expired.class, RunChange.EXPIRED,
          Event.Abandoned.class, RunChange.ABANDONED);

  private RunChanges() {}

  static void report(String flow, List<Event> events, Telemetry telemetry) {
    if (telemetry == Telemetry.NONE) {
      return;
    }
    int first = 0;
    for (int i = 0; i < events.size(); i++) {
      first = events.get(i) instanceof Event.ForkedFrom ? i : first;
    }
    for (Event event : events.subList(first, events.size())) {
      RunChange change = CHANGES.get(event.getClass());
      if (change != null && !holds(event)) {
        telemetry.measured(Meter.RUNS, 1, List.of(flow, Meter.tag(change), code(event)));
      }
    }
  }

  /** A step that is held because another one failed has not stopped its run. */
  private static boolean holds(Event event) {
    return event instanceof Event.Stopped stopped && stopped.code() == ErrorCode.BRANCH_CANCELLED;
  }

  /** Why it stopped or failed. */
  private static String code(Event event) {
    if (event instanceof Event.Stopped stopped) {
      return stopped.code().wireName();
    }
    return event instanceof Event.Failed failed ? failed.code().wireName() : Meter.NO_CODE;
  }
}
