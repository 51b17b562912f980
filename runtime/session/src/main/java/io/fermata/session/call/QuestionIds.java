package io.fermata.session.call;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
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

  /** The ids of the open questions: the place of each, and when it was last asked again. */
  public static Map<String, String> names(RunState run) {
    Map<String, String> names = new LinkedHashMap<>();
    run.places()
        .forEach(
            (place, at) -> {
              if (at.phase() instanceof Phase.Asking) {
                at.open()
                    .forEach(question -> names.put(question.field(), name(question, place, at)));
              }
            });
    return names;
  }

  private static String name(Event.Question question, Place place, PlaceState at) {
    Long again = at.again().get(question.field());
    return question.field() + "@" + place + (again == null ? "" : "." + again);
  }
}
