package io.fermata.persistence;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a directory says of one journal, or of a part of it.
 *
 * @param persistenceId the journal; of a part of it, followed by a dot and the name of the part
 * @param kind what the journal is, up to 64 characters; every list is of one kind
 * @param principal whom it belongs to, up to 256 characters, empty for nobody
 * @param name up to 256 characters, may be empty
 * @param seq the sequence number of the record this speaks of; higher ones replace lower ones
 * @param createdAt when the journal began, in milliseconds since 1970
 * @param activeAt when something happened last, in milliseconds since 1970
 * @param tags up to 32, each up to 64 characters
 * @param attributes up to 32, each name up to 64 characters and each value up to 1024
 * @param session the session that it belongs to, up to 256 characters, empty for none
 * @param standing how it stands, in a word of up to 64 characters, empty if nobody asks for that
 * @param since since when it stands so, in milliseconds since 1970
 */
public record DirectoryEntry(
    String persistenceId,
    String kind,
    String principal,
    String name,
    long seq,
    long createdAt,
    long activeAt,
    Set<String> tags,
    Map<String, String> attributes,
    String session,
    String standing,
    long since) {

  public DirectoryEntry {
    tags = Set.copyOf(tags);
    attributes = Map.copyOf(attributes);
    DirectoryLimits.persistenceId(persistenceId);
    DirectoryLimits.kind(kind);
    DirectoryLimits.principal(principal);
    DirectoryLimits.name(name);
    DirectoryLimits.tags(tags);
    DirectoryLimits.attributes(attributes);
    DirectoryLimits.session(session);
    DirectoryLimits.standing(standing);
    if (seq < 0) {
      throw new IllegalArgumentException(
          "The sequence number "
              + seq
              + " of "
              + persistenceId
              + " is below 0; give that of a record");
    }
  }

  /** An entry of what belongs to no session, and of which nobody asks how it stands. */
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
        tags,
        attributes,
        "",
        "",
        activeAt);
  }

  /** The journal that an entry of that name speaks of, or of a part of which. */
  static String journalOf(String name) {
    int part = name.indexOf('.', name.indexOf('|') + 1);
    return part < 0 ? name : name.substring(0, part);
  }

  /** What a search for text looks through. */
  String searchable() {
    return Stream.concat(
            Stream.of(name), Stream.concat(tags.stream(), attributes.values().stream()).sorted())
        .map(DirectoryEntry::folded)
        .collect(Collectors.joining("\n"));
  }

  static String folded(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
