package io.fermata.flow.engine;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Renaming;
import io.fermata.flow.event.RunState;
import java.util.List;

/**
 * The events of a run as they would be called in a later version of its flow, whose migrations say
 * what became of nodes and fields, those within a value, too. Words that were said stay as they
 * were.
 */
public final class EventNames {
  /** Everything is called what it was. */
  public static final EventNames SAME = new EventNames(List.of());

  private final List<Renaming> steps;

  private EventNames(List<Renaming> steps) {
    this.steps = steps;
  }

  /** These names, and then those of a further migration. */
  public EventNames then(Renaming further) {
    return further.nodes().isEmpty() && further.fields().isEmpty()
        ? this
        : new EventNames(RunState.plus(steps, further));
  }

  /** Whether nothing has another name. */
  public boolean same() {
    return steps.isEmpty();
  }

  /** Events under the new names. Migrations are not among them. */
  public List<Event> of(List<Event> events) {
    if (steps.isEmpty()) {
      return events;
    }
    return events.stream().map(this::of).toList();
  }

  private Event of(Event event) {
    Event named = event;
    for (Renaming step : steps) {
      named = step.of(named);
    }
    return named;
  }
}
