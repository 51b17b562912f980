package io.fermata.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.POJONode;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What a journal keeps of an event. */
class StoredEventsTest {
  @Test
  void readsWhatWasStored() {
    List<Event> events =
        List.of(
            new Event.Answered(Map.of("seats", Json.tree(3), "share", Json.tree(0.5)), null, 1),
            new Event.Cancelled(2));

    assertThat(StoredEvents.roundTrip(events)).isEqualTo(events);
  }

  @Test
  void refusesAnEventThatIsReadDifferently() {
    Event event = new Event.Answered(Map.of("when", new POJONode(Map.of("a", 1))), null, 1);

    assertThatThrownBy(() -> StoredEvents.roundTrip(List.of(event)))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("would not store the event as it is");
  }

  @Test
  void refusesAnEventThatCannotBeStored() {
    Event event = new Event.Answered(Map.of("when", new POJONode(new Object())), null, 1);

    assertThatThrownBy(() -> StoredEvents.roundTrip(List.of(event)))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("could not store the event")
        .hasCauseInstanceOf(IllegalStateException.class);
  }
}
