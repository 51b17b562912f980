package io.fermata.session.archive;

import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.event.Event;
import io.fermata.flow.replay.JournalEntry;
import io.fermata.flow.replay.RunJournal;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An export that was read to its end.
 *
 * @param entries by their numbers; empty is what is encrypted as a whole with a missing key
 * @param redacted whether a key is missing
 */
public record Exported(
    Archive.Header header,
    Map<Long, Optional<Entry<?>>> entries,
    boolean redacted,
    ExportChain.Signed signed) {
  private static final Logger LOG = LoggerFactory.getLogger(Exported.class);

  /**
   * Reads an export with its secrets; redacted if their key is missing.
   *
   * @throws ArchiveException if it is incomplete, altered or inconsistent
   */
  public static Exported read(byte[] export, Encryption keys) {
    Exported read;
    try {
      read = read(export, keys, false);
    } catch (ArchiveException e) {
      if (!(e.getCause() instanceof EncryptionException unread && unread.keyMissing())) {
        throw e;
      }
      read = read(export, keys, true);
    }
    ExportSignature signature = read.signed.signature();
    if (signature == ExportSignature.NOT_VERIFIED) {
      LOG.info("The export of {}: {}", read.header.title(), signature.text());
    }
    return read;
  }

  private static Exported read(byte[] export, Encryption keys, boolean redacted) {
    try {
      ArchiveReader archive = new ArchiveReader(new ByteArrayInputStream(export), keys);
      Map<Long, Optional<Entry<?>>> entries = new TreeMap<>();
      ExportChain.Signed signed =
          redacted
              ? archive.readable(entries::put)
              : archive.entries((stored, entry) -> entries.put(stored.seq(), Optional.of(entry)));
      return new Exported(archive.header(), entries, redacted, signed);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public boolean isRun() {
    return header.isRun();
  }

  /**
   * The journal of a run.
   *
   * @throws ArchiveException if it is that of a thread, or has nothing of the run
   */
  public RunJournal run() {
    if (!isRun()) {
      throw otherwise(header.title(), "run", "thread");
    }
    List<JournalEntry<Event>> encrypted = new ArrayList<>();
    List<JournalEntry<Event>> session = new ArrayList<>();
    entries.forEach(
        (seq, entry) ->
            entry.ifPresentOrElse(
                one -> session.add(one.ofRun()), () -> encrypted.add(JournalEntry.encrypted(seq))));
    List<JournalEntry<Event>> own = new ArrayList<>(encrypted);
    own.addAll(RunJournal.of(header.name(), header.id(), session).entries());
    own.sort(Comparator.comparing(JournalEntry::seq));
    if (own.isEmpty()) {
      throw new ArchiveException(
          "The export has no entry of the run %s; export it again, with the runId of a reply"
              .formatted(header.id()));
    }
    return new RunJournal(header.name(), header.id(), own, redacted);
  }

  /**
   * The journal of a thread.
   *
   * @throws ArchiveException if it is that of a run
   */
  public ThreadJournal thread() {
    if (isRun()) {
      throw otherwise(header.title(), "thread", "run");
    }
    List<JournalEntry<ThreadEvent>> thread = new ArrayList<>();
    entries.forEach(
        (seq, entry) ->
            thread.add(entry.map(Entry::ofThread).orElseGet(() -> JournalEntry.encrypted(seq))));
    return new ThreadJournal(header.name(), header.id(), thread, redacted);
  }

  /** Refuses the export of one kind where the other one is asked for. */
  public static ArchiveException otherwise(String title, String asked, String kind) {
    return new ArchiveException(
        "The export is that of a %s, not of a %s; read it as a %s".formatted(title, asked, kind));
  }
}
