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

  private final List<Step> steps;

  private record Step(Renaming names, int to) {}

  private EventNames(List<Step> steps) {
    this.steps = steps;
  }

  /** These names, and then those of a further migration, to the given version. */
  public EventNames then(Renaming further, int to) {
    return further.nodes().isEmpty() && further.fields().isEmpty()
        ? this
        : new EventNames(RunState.plus(steps, new Step(further, to)));
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
    for (Step step : steps) {
      named = step.names.of(named, step.to);
    }
    return named;
  }
}
