package io.fermata.flow.event;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Paths;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The result of an effect in the run that a fork comes from. It is reused once, for the same effect
 * with the same input.
 *
 * @param tick when the fork had it, in its count of events; 0 if it had not
 * @param field the field whose answer was checked; null for an action
 * @param read what the effect had read, by path; null where there was nothing
 * @param events its result: the event, and the tags that it gave the run
 */
public record RecordedResult(
    long tick,
    Place place,
    @Nullable String field,
    Map<String, JsonNode> read,
    List<Event> events) {

  /**
   * What an event is the result of; null if it is none.
   *
   * @param previous the event before it, which may be a part of the result
   */
  static @Nullable RecordedResult of(RunState state, @Nullable Event previous, Event event) {
    Place place = event.place();
    if (place == null
        || place.undoes()
        || !isResult(event)
        || (event instanceof Event.Stopped stopped && stopped.code() == ErrorCode.SANDBOXED)
        || !(phase(state, place) instanceof Phase.Working working)) {
      return null;
    }
    List<Event> events =
        previous instanceof Event.Tagged tags && tags.place().equals(place)
            ? List.of(tags, event)
            : List.of(event);
    return of(state, place, working.field(), events);
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

  boolean succeeded() {
    return events.stream()
        .noneMatch(e -> e instanceof Event.AttemptFailed || e instanceof Event.Stopped);
  }

  private static RecordedResult of(
      RunState state, Place place, @Nullable String field, List<Event> events) {
    List<String> paths =
        events.get(events.size() - 1) instanceof Event.Committed committed
            ? committed.reads()
            : List.of(field == null ? "" : field);
    ObjectNode data = state.memory(place.branch()).data();
    Map<String, JsonNode> read = new LinkedHashMap<>();
    paths.forEach(path -> read.put(path, value(data, path)));
    return new RecordedResult(state.tick() + 1, place, field, read, events);
  }

  RecordedResult at(long when) {
    return new RecordedResult(when, place, field, read, events);
  }

  private static JsonNode value(ObjectNode data, String path) {
    JsonNode value = path.isEmpty() ? data : Paths.get(data, path);
    return value.isMissingNode() ? NullNode.getInstance() : value;
  }

  /** Whether it is the result of an effect, in any visit of its node and of the forks around it. */
  boolean answers(Place asked, @Nullable String checked, ObjectNode data) {
    return Place.alike(place.branch(), asked.branch())
        && place.node().equals(asked.node())
        && Objects.equals(field, checked)
        && read.entrySet().stream()
            .allMatch(known -> value(data, known.getKey()).equals(known.getValue()));
  }
}
