package io.fermata.testkit;

import io.fermata.flow.event.Event;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.key.Handles;
import io.fermata.session.key.SessionKey;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A recorded run as the journal of a session that a host can continue. */
final class RecordedSession {
  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  private final RunJournal recorded;
  private final String principal;

  private RecordedSession(RunJournal recorded, String principal) {
    this.recorded = recorded;
    this.principal = principal;
  }

  static RecordedSession of(RunJournal recorded) {
    if (!recorded.whole().state().running()) {
      throw new IllegalArgumentException(
          "The recorded run "
              + recorded.runId()
              + " has ended and cannot be continued; cut it where it was still running, with"
              + " journal.upTo(seq)");
    }
    String starter = recorded.entries().get(0).principal();
    return new RecordedSession(recorded, starter == null ? Probe.TESTER : starter);
  }

  String principal() {
    return principal;
  }

  /** When its last entry was written. */
  Instant end() {
    List<JournalEntry<Event>> entries = recorded.entries();
    return Instant.ofEpochMilli(entries.get(entries.size() - 1).at());
  }

  /** Writes it into a store that no host has open; returns the handle of its session. */
  String store(Store store) {
    try (OpenStore open = store.open()) {
      String handle = new Handles(open.serverKey()).mint();
      String journal = new SessionKey(principal, recorded.flow(), handle).entityId();
      open.importJournal(journal, entries(handle, SessionKey.newRunId(journal, 0)))
          .toCompletableFuture()
          .join();
      return handle;
    }
  }

  private List<NewEntry> entries(String handle, String runId) {
    List<NewEntry> entries = new ArrayList<>();
    for (JournalEntry<Event> each : recorded.entries()) {
      boolean last = entries.size() + 1 == recorded.entries().size();
      Entry<Event> entry =
          Entry.of(
              entries.size() + 1L,
              each.at(),
              origin(each, entries.isEmpty() ? handle : null),
              each.events().stream().map(event -> named(event, runId)).toList());
      entries.add(stored(last ? entry.waking(Entry.Wake.NOW) : entry));
    }
    return entries;
  }

  private Entry.Origin origin(JournalEntry<Event> entry, @Nullable String session) {
    if (session != null) {
      return Entry.Origin.starting(principal, session);
    }
    return Entry.of(entry).origin();
  }

  private static Event named(Event event, String runId) {
    return event instanceof Event.Started started
        ? new Event.Started(
            runId, started.version(), started.fingerprint(), started.intent(), started.at())
        : event;
  }

  private static NewEntry stored(Entry<Event> entry) {
    StoredEntry stored =
        new StoredEntry(
            entry.seq(),
            SERIALIZER.identifier(),
            SERIALIZER.manifest(entry),
            SERIALIZER.toBinary(entry));
    return new NewEntry(stored, entry.at(), entry.tags());
  }
}
