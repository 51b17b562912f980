package io.fermata.session.call;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.Phase;
import io.fermata.flow.event.Place;
import io.fermata.flow.event.PlaceState;
import io.fermata.flow.event.RunState;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The very questions that answers are for: the same ones asked anew are others.
 *
 * @param names by field, as {@link TaskView#asked} has them
 */
public record QuestionIds(String runId, Map<String, String> names) {
  public QuestionIds {
    names = Map.copyOf(names);
  }

  /** Whether a run still asks them all. */
  public boolean by(RunState run) {
    return run.runId().equals(runId) && names(run).entrySet().containsAll(names.entrySet());
  }

  /** The names of the open questions: where each is put, and how often it was answered in vain. */
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
    PlaceState.Rejection rejection = at.rejected().get(question.field());
    return question.field() + "@" + place + (rejection == null ? "" : "." + rejection.tick());
  }
}
