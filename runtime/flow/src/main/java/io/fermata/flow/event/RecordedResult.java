package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of an effect in the run that a fork comes from. It is reused for the same effect with
 * the same input.
 *
 * @param field the field whose answer was checked; null for an action
 * @param read what the effect had read, by path; null where there was nothing
 * @param events its result: the event, and the tags that it gave the run
 */
public record RecordedResult(
    Place place, @Nullable String field, Map<String, JsonNode> read, List<Event> events) {

  /** The results in a journal, in their order. */
  public static List<RecordedResult> in(RunState before, List<Event> events) {
    List<RecordedResult> all = new ArrayList<>();
    Map<Place, Event.Tagged> tagged = new HashMap<>();
    RunState state = before;
    for (Event event : events) {
      Place place = event.place();
      if (event instanceof Event.Tagged tags) {
        tagged.put(tags.place(), tags);
      } else if (place != null
          && isResult(event)
          && phase(state, place) instanceof Phase.Working working
          && !place.undoes()) {
        all.add(of(state, place, working.field(), event, tagged.remove(place)));
      }
      state = state.apply(event);
    }
    return all;
  }

  /**
   * What a fork may take from its source: the results after its entry, then those that the source
   * had before it, as a corrected answer may lead there again, the latest first.
   */
  public static List<RecordedResult> around(RunState at, List<Event> before, List<Event> after) {
    List<RecordedResult> all = new ArrayList<>(in(at, after));
    List<RecordedResult> earlier = in(RunState.NONE, before);
    earlier.removeIf(recorded -> !recorded.succeeded());
    Collections.reverse(earlier);
    all.addAll(earlier);
    return all;
  }

  private static @Nullable Phase phase(RunState state, Place place) {
    PlaceState at = state.places().get(place);
    return at == null ? null : at.phase();
  }

  /** Whether an event is the result of an effect, if its place was working on one. */
  static boolean isResult(Event event) {
    return event instanceof Event.Committed
        || event instanceof Event.Accepted
        || event instanceof Event.Rejected
        || event instanceof Event.AttemptFailed
        || (event instanceof Event.Stopped stopped && stopped.resume() == Event.Resume.WORKING);
  }

  private boolean succeeded() {
    return events.stream()
        .noneMatch(e -> e instanceof Event.AttemptFailed || e instanceof Event.Stopped);
  }

  private static RecordedResult of(
      RunState state,
      Place place,
      @Nullable String field,
      Event event,
      Event.@Nullable Tagged tagged) {
    List<String> paths =
        event instanceof Event.Committed committed
            ? committed.reads()
            : List.of(field == null ? "" : field);
    ObjectNode data = state.memory(place.branch()).data();
    Map<String, JsonNode> read = new LinkedHashMap<>();
    paths.forEach(path -> read.put(path, value(data, path)));
    List<Event> events = tagged == null ? List.of(event) : List.of(tagged, event);
    return new RecordedResult(place, field, read, events);
  }

  private static JsonNode value(ObjectNode data, String path) {
    JsonNode value = path.isEmpty() ? data : Paths.get(data, path);
    return value.isMissingNode() ? NullNode.getInstance() : value;
  }

  /** Whether it is the result of an effect, in any visit of its node. */
  boolean answers(Place asked, @Nullable String checked, ObjectNode data) {
    return place.branch().equals(asked.branch())
        && place.node().equals(asked.node())
        && Objects.equals(field, checked)
        && read.entrySet().stream()
            .allMatch(known -> value(data, known.getKey()).equals(known.getValue()));
  }
}
