package io.fermata.flow.replay;

import io.fermata.flow.event.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Finds the events of one run among those of the others in the journal of its session. */
public final class RunEvents {
  private final Predicate<String> wanted;
  private boolean own;

  private RunEvents(Predicate<String> wanted) {
    this.wanted = wanted;
  }

  public static RunEvents of(String runId) {
    return new RunEvents(runId::equals);
  }

  /** Those of the run that has begun last, so far. */
  public static RunEvents latest() {
    return new RunEvents(runId -> true);
  }

  /** What an entry has of the run, if the entries before it were given before. */
  public List<Event> in(List<Event> entry) {
    List<Event> events = new ArrayList<>();
    for (Event event : entry) {
      if (event instanceof Event.Started started) {
        own = wanted.test(started.runId());
        if (own) {
          events.clear();
        }
      }
      if (own) {
        events.add(event);
      }
    }
    return events;
  }
}
