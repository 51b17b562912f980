package io.fermata.testkit;

import io.fermata.flow.event.Event;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import java.util.ArrayList;
import java.util.List;

/** Events as a host stores them and reads them again. */
final class StoredEvents {
  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  private StoredEvents() {}

  /** The events as they are read from a journal; fails if they are not the same. */
  static List<Event> roundTrip(List<Event> events) {
    List<Event> read = new ArrayList<>();
    for (Event event : events) {
      Event stored = roundTrip(event);
      if (!stored.equals(event)) {
        throw new AssertionError(
            "A journal would not store the event as it is: " + event + " is read as " + stored);
      }
      read.add(stored);
    }
    return read;
  }

  private static Event roundTrip(Event event) {
    Entry<Event> entry = Entry.of(1, 0, Entry.Origin.HOST, List.of(event));
    try {
      byte[] stored = SERIALIZER.toBinary(entry);
      Entry<?> read = (Entry<?>) SERIALIZER.fromBinary(stored, SERIALIZER.manifest(entry));
      return (Event) read.events().get(0);
    } catch (RuntimeException e) {
      throw new AssertionError(
          "A journal could not store the event " + event.getClass().getSimpleName(), e);
    }
  }
}
