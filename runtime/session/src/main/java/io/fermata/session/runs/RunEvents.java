package io.fermata.session.runs;

import io.fermata.flow.event.Event;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.journal.Entry;
import java.util.List;
import java.util.Locale;

/** Entries of a session as those of a run's journal: its events, and who caused them. */
public final class RunEvents {
  private RunEvents() {}

  public static RunJournal.Entry of(Entry<?> entry) {
    List<Event> events =
        entry.events().stream().filter(Event.class::isInstance).map(Event.class::cast).toList();
    Entry.Origin origin = entry.origin();
    String by = origin.by().name().toLowerCase(Locale.ROOT);
    return new RunJournal.Entry(entry.seq(), entry.at(), by, origin.principal(), events);
  }
}
