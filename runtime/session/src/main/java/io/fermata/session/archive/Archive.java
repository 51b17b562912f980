package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.admin.ExportSignature;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.Lossless;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import io.fermata.session.runs.RunEvents;
import io.fermata.session.thread.ThreadEvents;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An exported journal as readable JSON Lines: a header, one line per entry, and an end line with
 * their number and the {@link ExportChain} of all lines.
 */
public final class Archive {
  private static final String WHAT = "journal";
  private static final int FORMAT = 1;
  private static final String RUN = "run";
  private static final String THREAD = "thread";
  private static final Logger LOG = LoggerFactory.getLogger(Archive.class);
  private static final JournalSerializer SERIALIZER = new JournalSerializer();

  private Archive() {}

  /**
   * The header line.
   *
   * @param kind {@code run} or {@code thread}
   * @param name the flow, or the agent that the thread began with
   * @param journal the persistence id of the journal
   * @param id the id of the run, or of the thread
   */
  public record Header(String kind, String name, String journal, String id) {

    public static Header ofRun(String flow, String runId) {
      return new Header(RUN, flow, SessionKey.entityOf(flow, runId), runId);
    }

    public static Header ofThread(ThreadKey key) {
      return new Header(THREAD, key.agent(), key.entityId(), key.threadId());
    }

    /** The title for users: {@code run quote/…}, {@code thread …}. */
    String title() {
      return isRun() ? kind + " " + name + "/" + id : kind + " " + id;
    }

    boolean isRun() {
      return kind.equals(RUN);
    }

    String line(StoredEntry first, Encryption encryption) {
      ObjectNode line = Json.object().put("fermata", WHAT).put("format", FORMAT);
      line.put("version", version()).put("kind", kind).put("name", name);
      line.put("journal", journal).put("id", id);
      Owner owner = Owner.of(first, journal, encryption);
      if (owner != null) {
        line.put("principal", owner.principal());
        if (owner.session() != null) {
          line.put("session", owner.session());
        }
      }
      return Lossless.text(line);
    }

    static Header read(JsonNode line) {
      if (!line.path("fermata").asText().equals(WHAT)) {
        throw wrong(1, "it is not the header of a Fermata journal");
      } else if (line.path("format").asInt() != FORMAT) {
        throw wrong(
            1,
            "the format is "
                + line.path("format").asText("not named")
                + " and this release reads "
                + FORMAT
                + "; import it with the release that wrote it, or a newer one");
      }
      Header header =
          new Header(
              text(line, "kind"), text(line, "name"), text(line, "journal"), text(line, "id"));
      Header expected =
          switch (header.kind) {
            case RUN -> ofRun(header.name, header.id);
            case THREAD -> {
              ThreadKey key = ThreadKey.of(header.id);
              yield key == null ? header : ofThread(key);
            }
            default -> throw wrong(1, "unknown kind of journal: " + header.kind);
          };
      if (!expected.equals(header)) {
        throw wrong(1, "the journal " + header.journal + " is not that of " + header.id);
      }
      return header;
    }

    private static String text(JsonNode line, String field) {
      if (!line.path(field).isTextual()) {
        throw wrong(1, "it has no " + field);
      }
      return line.path(field).textValue();
    }
  }

  /** The owner of a journal, from one of its entries. */
  private record Owner(String principal, @Nullable String session) {
    /** Null if unknown, or encrypted with a missing key. */
    static @Nullable Owner of(StoredEntry first, String journal, Encryption encryption) {
      try {
        return of(entry(first, journal, encryption));
      } catch (EncryptionException e) {
        return null;
      }
    }

    private static @Nullable Owner of(Entry<?> entry) {
      Entry.Owner owner = entry.origin().owner();
      if (owner != null) {
        return new Owner(owner.principal(), owner.session());
      }
      return !entry.events().isEmpty()
              && entry.events().get(0) instanceof ThreadEvent.Created created
          ? new Owner(created.principal(), null)
          : null;
    }
  }

  // --- writing --------------------------------------------------------------------------------

  static String line(StoredEntry stored) {
    ObjectNode line = Json.object().put("seq", stored.seq()).put("type", stored.manifest());
    try {
      line.set("record", Lossless.json(stored.payload()));
    } catch (IOException e) {
      throw new ArchiveException(
          "Record "
              + stored.seq()
              + " ("
              + stored.manifest()
              + ") cannot be exported: this release cannot read it; use the release that"
              + " wrote it, or restore the journal from a backup",
          e);
    }
    return Lossless.text(line);
  }

  /** The lines of an unsigned export of entries that are in no store. */
  static List<String> lines(Header header, List<? extends Entry<?>> entries) {
    ExportChain chain = new ExportChain();
    List<String> lines = new ArrayList<>();
    for (Entry<?> entry : entries) {
      StoredEntry stored = written(entry.seq(), entry);
      if (lines.isEmpty()) {
        lines.add(header.line(stored, Encryption.NONE));
      }
      lines.add(line(stored));
    }
    lines.forEach(chain::add);
    lines.add(chain.end(entries.size(), Encryption.NONE));
    return lines;
  }

  /**
   * Writes an export that a person has edited with the checksum of what it is now. A signature is
   * dropped: nobody signs what was not exported.
   *
   * @throws ArchiveException if it is no export, or is incomplete
   */
  public static List<String> accepted(List<String> edited) {
    ExportChain chain = new ExportChain();
    List<String> lines = new ArrayList<>();
    for (String line : edited) {
      if (ExportChain.ends(parsed(line, lines.size() + 1))) {
        lines.add(chain.end(lines.size() - 1L, Encryption.NONE));
        return lines;
      }
      chain.add(line);
      lines.add(line);
    }
    throw wrong(lines.size() + 1, "the line is missing; the file is truncated");
  }

  private static String version() {
    String version = Archive.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  /** A decrypted copy of an entry. */
  static StoredEntry decrypted(StoredEntry stored, String journal, Encryption encryption) {
    return written(stored.seq(), entry(stored, journal, encryption));
  }

  static StoredEntry written(long seq, Object entry) {
    return new StoredEntry(
        seq, SERIALIZER.identifier(), SERIALIZER.manifest(entry), SERIALIZER.toBinary(entry));
  }

  private static Entry<?> entry(StoredEntry stored, String journal, Encryption encryption) {
    try {
      return encryption.read(journal, stored);
    } catch (UnreadableEntry e) {
      throw new ArchiveException(String.valueOf(e.getMessage()), e);
    }
  }

  // --- reading --------------------------------------------------------------------------------

  /**
   * The run of an export, with its secrets; redacted if their key is missing.
   *
   * @throws ArchiveException if the export is incomplete, altered, or that of a thread
   */
  public static RunJournal journal(InputStream from, Encryption encryption) throws IOException {
    byte[] export = from.readAllBytes();
    try {
      return whole(new ByteArrayInputStream(export), encryption);
    } catch (ArchiveException e) {
      if (keyMissing(e)) {
        return redacted(export, encryption);
      }
      throw e;
    }
  }

  private static boolean keyMissing(ArchiveException e) {
    return e.getCause() instanceof EncryptionException unread && unread.keyMissing();
  }

  /** The entries of an export, as far as they can be read without their keys; null for the rest. */
  private static Map<Long, Optional<Entry<?>>> readable(byte[] export, Encryption encryption)
      throws IOException {
    List<String> lines = export(export);
    Header header = Header.read(parsed(lines.get(0), 1));
    Map<Long, Optional<Entry<?>>> entries = new LinkedHashMap<>();
    ExportChain chain = new ExportChain();
    chain.add(lines.get(0));
    for (int i = 1; i < lines.size(); i++) {
      JsonNode line = parsed(lines.get(i), i + 1);
      if (ExportChain.ends(line)) {
        chain.checked(line, entries.size(), encryption);
        return entries;
      }
      chain.add(lines.get(i));
      StoredEntry stored = stored(line, i + 1);
      entries.put(stored.seq(), encryption.readRedacted(header.journal(), stored));
    }
    throw wrong(lines.size() + 1, "the line is missing; the file is truncated");
  }

  private static List<String> export(byte[] export) {
    return new String(export, StandardCharsets.UTF_8).lines().toList();
  }

  /** The run of an export without its secrets, as their key is missing. */
  private static RunJournal redacted(byte[] export, Encryption encryption) throws IOException {
    Header header = Header.read(parsed(export(export).get(0), 1));
    List<RunJournal.Entry> readable = new ArrayList<>();
    List<RunJournal.Entry> entries = new ArrayList<>();
    readable(export, encryption)
        .forEach(
            (seq, entry) ->
                entry.ifPresentOrElse(
                    one -> readable.add(RunEvents.of(one)),
                    () -> entries.add(RunJournal.Entry.encrypted(seq))));
    entries.addAll(RunJournal.of(header.name(), header.id(), readable).entries());
    entries.sort(Comparator.comparing(RunJournal.Entry::seq));
    return new RunJournal(header.name(), header.id(), entries, true);
  }

  private static RunJournal whole(InputStream from, Encryption encryption) throws IOException {
    ArchiveReader archive = new ArchiveReader(from, encryption);
    Header header = archive.header();
    if (!header.isRun()) {
      throw new ArchiveException(
          "The export is that of a " + header.title() + ", not of a run; read it as a thread");
    }
    List<RunJournal.Entry> entries = new ArrayList<>();
    ExportSignature signature =
        archive.entries((stored, entry) -> entries.add(RunEvents.of(entry)));
    if (signature == ExportSignature.NOT_VERIFIED) {
      LOG.info("The export of {}: {}", header.title(), signature.text());
    }
    RunJournal journal = RunJournal.of(header.name(), header.id(), entries);
    if (journal.entries().isEmpty()) {
      throw new ArchiveException(
          "The export has no entry of the run %s; export it again, with the runId of a reply"
              .formatted(header.id()));
    }
    return journal;
  }

  /**
   * The thread of an export, with its secrets; redacted if their key is missing.
   *
   * @throws ArchiveException if the export is incomplete, altered, or that of a run
   */
  public static ThreadJournal threadJournal(InputStream from, Encryption encryption)
      throws IOException {
    byte[] export = from.readAllBytes();
    try {
      return wholeThread(new ByteArrayInputStream(export), encryption);
    } catch (ArchiveException e) {
      if (!keyMissing(e)) {
        throw e;
      }
    }
    Header header = Header.read(parsed(export(export).get(0), 1));
    requireThread(header);
    List<ThreadJournal.Entry> entries = new ArrayList<>();
    readable(export, encryption)
        .forEach(
            (seq, entry) ->
                entries.add(
                    entry
                        .map(ThreadEvents::of)
                        .orElseGet(() -> ThreadJournal.Entry.encrypted(seq))));
    return new ThreadJournal(header.name(), header.id(), entries, true);
  }

  private static void requireThread(Header header) {
    if (header.isRun()) {
      throw new ArchiveException(
          "The export is that of a " + header.title() + ", not of a thread; read it as a run");
    }
  }

  private static ThreadJournal wholeThread(InputStream from, Encryption encryption)
      throws IOException {
    ArchiveReader archive = new ArchiveReader(from, encryption);
    Header header = archive.header();
    requireThread(header);
    List<ThreadJournal.Entry> entries = new ArrayList<>();
    archive.entries((stored, entry) -> entries.add(ThreadEvents.of(entry)));
    return new ThreadJournal(header.name(), header.id(), entries);
  }

  /**
   * Who signed an export.
   *
   * @param key the id of the key, as the export says; null if it is not signed
   */
  public record Signed(ExportSignature signature, @Nullable String key) {}

  /**
   * Checks the signature of an export, and that its lines are those that were written.
   *
   * @throws ArchiveException if it was cut or altered
   */
  public static Signed signed(byte[] export, Encryption encryption) {
    List<String> lines = export(export);
    ExportChain chain = new ExportChain();
    lines.subList(0, lines.size() - 1).forEach(chain::add);
    JsonNode end = parsed(lines.get(lines.size() - 1), lines.size());
    return new Signed(chain.checked(end, lines.size() - 2, encryption), ExportChain.signedBy(end));
  }

  /** Whether an export is that of a thread, and not of a run. */
  public static boolean isThread(InputStream from) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(from, StandardCharsets.UTF_8));
    return !Header.read(parsed(lines.readLine(), 1)).isRun();
  }

  static JsonNode parsed(@Nullable String line, int number) {
    if (line == null) {
      throw wrong(number, "the line is missing; the file is truncated");
    }
    try {
      return Lossless.parse(line);
    } catch (IOException e) {
      throw new ArchiveException("Line " + number + " is not JSON; nothing of it was used", e);
    }
  }

  static StoredEntry stored(JsonNode line, int number) {
    if (!line.path("seq").canConvertToLong()
        || !line.path("type").isTextual()
        || !line.path("record").isObject()) {
      throw wrong(number, "it is not an entry with seq, type and record");
    }
    try {
      byte[] payload = Lossless.payload(line.path("record"));
      return new StoredEntry(
          line.path("seq").longValue(),
          SERIALIZER.identifier(),
          line.path("type").textValue(),
          payload);
    } catch (IOException | NumberFormatException e) {
      throw new ArchiveException("Line " + number + " cannot be read; nothing of it was used", e);
    }
  }

  static ArchiveException wrong(int line, String why) {
    return new ArchiveException("Line " + line + ": " + why + "; nothing of it was used");
  }
}
