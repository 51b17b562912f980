package io.fermata.session;

import io.fermata.flow.At;
import io.fermata.flow.Event;
import io.fermata.flow.Phase;
import io.fermata.flow.Place;
import io.fermata.flow.RunState;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The very questions that answers are for: the same ones asked anew are others.
 *
 * @param names by field, as {@link TaskView#asked} has them
 */
record Asked(String runId, Map<String, String> names) {
  Asked {
    names = Map.copyOf(names);
  }

  /** Whether a run still asks them all. */
  boolean by(RunState run) {
    return run.runId().equals(runId) && names(run).entrySet().containsAll(names.entrySet());
  }

  /** The names of the open questions: where each is put, and how often it was answered in vain. */
  static Map<String, String> names(RunState run) {
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

  private static String name(Event.Question question, Place place, At at) {
    At.Rejection rejection = at.rejected().get(question.field());
    return question.field() + "@" + place + (rejection == null ? "" : "." + rejection.tick());
  }
}
