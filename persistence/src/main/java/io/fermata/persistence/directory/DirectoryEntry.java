package io.fermata.persistence.directory;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a directory stores about one journal, or about a part of it.
 *
 * @param persistenceId the journal; of a part of it, followed by a dot and the name of the part.
 *     The names of the parts sort as the records that they describe
 * @param kind what the journal is, up to 64 characters; every list is of one kind
 * @param principal the owner, up to 256 characters, empty for none
 * @param name up to 256 characters, may be empty
 * @param seq the sequence number of the record that it describes; higher ones replace lower ones
 * @param createdAt when the journal began, in milliseconds since 1970
 * @param activeAt when it last changed, in milliseconds since 1970
 * @param labels tags and attributes to search by
 * @param session the session that it belongs to, up to 256 characters, empty for none
 * @param status the status of the session
 */
public record DirectoryEntry(
    String persistenceId,
    String kind,
    String principal,
    String name,
    long seq,
    long createdAt,
    long activeAt,
    DirectoryLabels labels,
    String session,
    Status status) {

  /**
   * The status of a session.
   *
   * @param name up to 64 characters, empty if it is not searched for
   * @param since when that status began, in milliseconds since 1970
   */
  public record Status(String name, long since) {}

  public DirectoryEntry {
    DirectoryLimits.persistenceId(persistenceId);
    DirectoryLimits.kind(kind);
    DirectoryLimits.principal(principal);
    DirectoryLimits.name(name);
    DirectoryLimits.tags(labels.tags());
    DirectoryLimits.attributes(labels.attributes());
    DirectoryLimits.session(session);
    DirectoryLimits.status(status.name());
    if (seq < 0) {
      throw new IllegalArgumentException(
          "The sequence number "
              + seq
              + " of "
              + persistenceId
              + " is below 0; pass that of a record");
    }
  }

  /** An entry that belongs to no session and has no status. */
  public DirectoryEntry(
      String persistenceId,
      String kind,
      String principal,
      String name,
      long seq,
      long createdAt,
      long activeAt,
      Set<String> tags,
      Map<String, String> attributes) {
    this(
        persistenceId,
        kind,
        principal,
        name,
        seq,
        createdAt,
        activeAt,
        new DirectoryLabels(tags, attributes),
        "",
        new Status("", activeAt));
  }

  /** The same entry with a session and a status. */
  public DirectoryEntry in(String itsSession, String statusName, long since) {
    return new DirectoryEntry(
        persistenceId,
        kind,
        principal,
        name,
        seq,
        createdAt,
        activeAt,
        labels,
        itsSession,
        new Status(statusName, since));
  }

  public Set<String> tags() {
    return labels.tags();
  }

  public Map<String, String> attributes() {
    return labels.attributes();
  }

  /** The name of the status; empty for none. */
  public String statusName() {
    return status.name();
  }

  /** When that status began, in milliseconds since 1970. */
  public long since() {
    return status.since();
  }

  /** The journal that an entry of that name describes, itself or a part of it. */
  public static String journalOf(String name) {
    int part = name.indexOf('.', name.indexOf('|') + 1);
    return part < 0 ? name : name.substring(0, part);
  }

  /** The text that a search looks through. */
  public String searchable() {
    return Stream.concat(
            Stream.of(name),
            Stream.concat(tags().stream(), attributes().values().stream()).sorted())
        .map(DirectoryEntry::folded)
        .collect(Collectors.joining("\n"));
  }

  public static String folded(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
