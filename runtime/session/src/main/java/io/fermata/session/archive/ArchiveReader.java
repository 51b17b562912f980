package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.engine.ThreadProgram;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.SessionState;
import io.fermata.session.key.SessionKey;
import io.fermata.session.thread.ThreadViews;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads and validates an {@link Archive} line by line, and keeps none of them. What was taken of
 * one that is refused at its end must not be used.
 */
final class ArchiveReader {
  /** Takes an entry, and how it is stored. */
  interface Taker {
    void take(StoredEntry stored, Entry<?> entry) throws IOException;
  }

  private final BufferedReader lines;
  private final Encryption encryption;
  private final ExportChain chain = new ExportChain();
  private final Archive.Header header;
  private int number;
  private int records;
  private long last;
  private SessionState<RunState> run = SessionState.of(RunState.NONE);
  private ThreadState thread = ThreadState.NONE;
  private long at;

  /** Reads the header. */
  ArchiveReader(InputStream from, Encryption encryption) throws IOException {
    this.lines = new BufferedReader(new InputStreamReader(from, StandardCharsets.UTF_8));
    this.encryption = encryption;
    this.header = Archive.Header.read(next());
  }

  Archive.Header header() {
    return header;
  }

  /**
   * Reads all entries.
   *
   * @throws ArchiveException at the first line that is not what was exported
   */
  ExportChain.Signed entries(Taker taker) throws IOException {
    ExportChain.Signed signed =
        stored(
            stored -> {
              Entry<?> entry = entry(stored);
              requireConsistent(entry);
              taker.take(stored, entry);
            });
    if (!header.isRun() && !(thread.exists() && thread.threadId().equals(header.id()))) {
      throw new ArchiveException(
          "The entries do not belong to the thread " + header.id() + "; nothing of it was used");
    }
    return signed;
  }

  /**
   * Refuses a thread that is not that of the owner in its name, by which it is erased. A recording
   * has another owner and is not imported.
   */
  void requireOwner() {
    ThreadEvent.Created created = thread.created();
    if (created != null
        && !SessionKey.placeOf(header.journal())
            .startsWith(SessionKey.ownerOf(created.principal()))) {
      throw anotherJournal();
    }
  }

  /** What lists show of a thread whose entries were read; null for a run. */
  @Nullable DirectoryEntry listed(ThreadProgram program) {
    return header.isRun() ? null : ThreadViews.entry(header.journal(), thread, program, last, at);
  }

  /**
   * Reads all entries as far as that needs no key that is missing. Whether they are consistent is
   * not known then.
   *
   * @throws ArchiveException at the first line that is not what was exported
   */
  ExportChain.Signed readable(BiConsumer<Long, Optional<Entry<?>>> taker) throws IOException {
    return stored(
        stored -> taker.accept(stored.seq(), encryption.readRedacted(header.journal(), stored)));
  }

  private interface Lines {
    void take(StoredEntry stored) throws IOException;
  }

  private ExportChain.Signed stored(Lines taker) throws IOException {
    JsonNode line = next();
    while (!ExportChain.ends(line)) {
      StoredEntry stored = Archive.stored(line, number);
      requireNext(stored.seq());
      records++;
      taker.take(stored);
      line = next();
    }
    number++;
    if (lines.readLine() != null) {
      throw Archive.wrong(number, "unexpected content after the end");
    }
    return chain.checked(line, records, encryption);
  }

  private JsonNode next() throws IOException {
    number++;
    String text = lines.readLine();
    JsonNode line = Archive.parsed(text, number);
    if (!ExportChain.ends(line)) {
      chain.add(String.valueOf(text));
    }
    return line;
  }

  private Entry<?> entry(StoredEntry stored) {
    try {
      return encryption.read(header.journal(), stored);
    } catch (RuntimeException e) {
      throw new ArchiveException(
          "Line " + number + " cannot be read, nothing of it was used: " + e.getMessage(), e);
    }
  }

  private void requireNext(long seq) {
    long before = records == 0 ? seq - 1 : last;
    if (seq != before + 1 || seq < 1) {
      throw Archive.wrong(number, "record " + seq + " follows record " + before);
    }
    last = seq;
  }

  /** Checks that an entry belongs to the journal of the header and can be folded. */
  private void requireConsistent(Entry<?> entry) {
    try {
      if (header.isRun()) {
        requireOfRun(entry);
        run = SessionState.replay(run, entry);
      } else {
        thread = thread.apply(entry.ofThread().events(), entry.seq());
        at = entry.at();
      }
    } catch (ArchiveException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new ArchiveException(
          "The entries are inconsistent, nothing of it was used: " + e.getMessage(), e);
    }
  }

  private void requireOfRun(Entry<?> entry) {
    for (Object happened : entry.events()) {
      if (!(happened instanceof Event)) {
        throw new ArchiveException(
            "The journal of a run has an event of a thread; nothing of it was used");
      } else if (happened instanceof Event.Started started) {
        requireOwn(SessionKey.entityOf(header.name(), started.runId()));
      }
    }
    Entry.Owner owner = entry.origin().owner();
    if (owner != null) {
      requireOwn(new SessionKey(owner.principal(), header.name(), owner.session()).entityId());
    }
  }

  private void requireOwn(String entityId) {
    if (!entityId.equals(header.journal())) {
      throw anotherJournal();
    }
  }

  private ArchiveException anotherJournal() {
    return new ArchiveException(
        "An entry belongs to another journal than %s; nothing of it was used"
            .formatted(header.journal()));
  }
}
