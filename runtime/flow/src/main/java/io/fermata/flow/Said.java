package io.fermata.flow;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The texts and values of a run that a picture repeats. They are heard as a recorder hears them, so
 * what is kept from recorders is kept from pictures.
 */
final class Said implements Recorder {
  private final Map<String, List<Event.Tried>> tried = new HashMap<>();
  private final Map<Place, Recorded.Pause> pauses = new HashMap<>();
  private final Map<String, String> breaks = new HashMap<>();
  private @Nullable String outcome;

  @Override
  public void onRunStart(Recorded.RunStart event) {
    tried.clear();
    pauses.clear();
    breaks.clear();
    outcome = null;
  }

  @Override
  public void onDecision(Recorded.Decision event) {
    tried.put(event.moment().node(), event.tried());
  }

  @Override
  public void onSelected(Recorded.Selected event) {
    tried.put(event.moment().node(), event.tried());
  }

  @Override
  public void onPause(Recorded.Pause event) {
    if (event.moment().place() != null) {
      pauses.put(event.moment().place(), event);
    }
  }

  @Override
  public void onBreak(Recorded.Break event) {
    breaks.put(event.moment().node(), event.reason());
  }

  @Override
  public void onRunEnding(Recorded.RunEnding event) {
    outcome = event.message();
  }

  @Override
  public void onRunEnd(Recorded.RunEnd event) {
    outcome = event.reason();
  }

  @Override
  public void onRunFailed(Recorded.RunFailed event) {
    outcome = event.message();
  }

  /** What the last decision at a node tried; nothing if there was none. */
  List<Event.Tried> tried(String node) {
    return tried.getOrDefault(node, List.of());
  }

  /** A question as it was put; null if it was not. */
  @Nullable String question(Place place, String field) {
    Recorded.Pause pause = pauses.get(place);
    return pause == null
        ? null
        : pause.questions().stream()
            .filter(question -> question.field().equals(field))
            .map(Event.Question::question)
            .findFirst()
            .orElse(null);
  }

  /** Why a place stands still. */
  @Nullable String trouble(Place place) {
    Recorded.Pause pause = pauses.get(place);
    return pause == null ? null : pause.message();
  }

  /** Why a node ended its flow early. */
  @Nullable String reason(String node) {
    return breaks.get(node);
  }

  /** Why the run ended; null if it went all its way. */
  @Nullable String outcome() {
    return outcome;
  }
}
