package io.fermata.session.runs;

import io.fermata.flow.event.Event;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.SessionKey;
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

  /**
   * The journal of a run, on a thread that may block; without entries if the store has none of it.
   *
   * @throws UnreadableEntry if an entry cannot be read
   */
  public static RunJournal journal(
      OpenStore store, Encryption encryption, String flow, String runId) {
    List<RunJournal.Entry> session =
        JournalPages.entries(store, encryption, SessionKey.entityOf(flow, runId), RunEvents::of);
    return RunJournal.of(flow, runId, session);
  }
}
