package io.fermata.session.call;

import io.fermata.flow.engine.PauseReport;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StateMemory;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Identifies the questions that answers are for. A question that is asked again has a new id.
 *
 * @param names by field, as in {@link TaskView#asked}
 */
public record QuestionIds(String runId, Map<String, String> names) {
  public QuestionIds {
    names = Map.copyOf(names);
  }

  /** Whether a run still asks all of them. */
  public boolean by(RunState run) {
    return run.runId().equals(runId) && names(run).entrySet().containsAll(names.entrySet());
  }

  /**
   * The ids of the open questions: the place of each, and when it was last asked again or got an
   * answer that could not be checked.
   */
  public static Map<String, String> names(RunState run) {
    Map<String, String> names = new LinkedHashMap<>();
    run.places()
        .forEach(
            (place, at) -> {
              if (PauseReport.asks(at)) {
                at.open()
                    .forEach(
                        question -> {
                          String field = question.field();
                          names.put(field, name(field, place, at, run.memory(place.branch())));
                        });
              }
            });
    return names;
  }

  private static String name(String field, Place place, PlaceState at, StateMemory memory) {
    long again = at.again().getOrDefault(field, 0L);
    Long unchecked = memory.since(field, place.node());
    long last = unchecked == null ? again : Math.max(again, unchecked);
    return field + "@" + place + (last == 0 ? "" : "." + last);
  }
}
