package io.fermata.session.thread;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.ThreadKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Entries of a session as those of a thread's journal: its events, and who caused them. */
public final class ThreadEvents {
  private ThreadEvents() {}

  /**
   * An entry of a thread.
   *
   * @throws ArchiveException if there is an event of a run
   */
  public static ThreadJournal.Entry of(Entry<?> entry) {
    List<ThreadEvent> events = new ArrayList<>();
    for (Object happened : entry.events()) {
      if (!(happened instanceof ThreadEvent event)) {
        throw new ArchiveException(
            "The journal of a thread has an event of a run; nothing of it was used");
      }
      events.add(event);
    }
    Entry.Origin origin = entry.origin();
    String by = origin.by().name().toLowerCase(Locale.ROOT);
    return new ThreadJournal.Entry(entry.seq(), entry.at(), by, origin.principal(), events);
  }

  /**
   * The journal of a thread, on a thread that may block; without entries if the store has none.
   *
   * @throws UnreadableEntry if an entry cannot be read
   */
  public static ThreadJournal journal(OpenStore store, Encryption encryption, ThreadKey key) {
    return new ThreadJournal(
        key.agent(),
        key.threadId(),
        JournalPages.entries(store, encryption, key.entityId(), ThreadEvents::of));
  }
}
