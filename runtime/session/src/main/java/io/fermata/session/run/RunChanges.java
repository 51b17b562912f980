package io.fermata.session.run;

import io.fermata.flow.event.Event;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.RunChange;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reports the changes of runs to telemetry. */
final class RunChanges {
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
      RunChange change = of(event);
      if (change != null) {
        telemetry.changed(flow, change);
      }
    }
  }

  private static @Nullable RunChange of(Event event) {
    if (event instanceof Event.Started || event instanceof Event.ForkedFrom) {
      return RunChange.BEGUN;
    } else if (event instanceof Event.Asked || event instanceof Event.Shown) {
      return RunChange.PAUSED;
    } else if (event instanceof Event.Stopped) {
      return RunChange.STOPPED;
    } else if (event instanceof Event.Completed) {
      return RunChange.COMPLETED;
    } else if (event instanceof Event.Failed) {
      return RunChange.FAILED;
    } else if (event instanceof Event.Cancelled) {
      return RunChange.CANCELLED;
    } else if (event instanceof Event.Expired) {
      return RunChange.EXPIRED;
    }
    return event instanceof Event.Abandoned ? RunChange.ABANDONED : null;
  }
}
