package io.fermata.session.archive;

import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.JournalPages;
import io.fermata.session.thread.ThreadEvents;
import java.util.List;

/** The entries of a thread in a store, on threads that may block. */
public record StoredThreadEntries(OpenStore store, Encryption encryption, String journal)
    implements EarlierEntries {

  @Override
  public List<ThreadEvent> entry(long seq) {
    List<List<ThreadEvent>> found = before(seq + 1, 1);
    return found.isEmpty() ? List.of() : found.get(0);
  }

  @Override
  public List<List<ThreadEvent>> before(long seq, int max) {
    return JournalPages.before(store, journal, seq, max).stream()
        .map(stored -> ThreadEvents.of(encryption.read(journal, stored)).events())
        .toList();
  }
}
