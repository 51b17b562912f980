package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.ArchiveException;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.Lossless;
import io.fermata.session.journal.UnreadableEntry;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An exported journal as readable JSON Lines: a header, one line per entry, and an end line with
 * their number and the {@link ExportChain} of all lines.
 */
public final class Archive {
  private static final String WHAT = "journal";
  private static final int FORMAT = 1;
  private static final String RUN = "run";
  private static final String THREAD = "thread";
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
