package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.StoredEntry;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.journal.Tagged;
import org.apache.pekko.serialization.Serialization;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.OptionConverters;

/**
 * One journal record as a store keeps it. The memory store serializes too, so serialization errors
 * show in tests.
 */
public record SerializedEntry(
    String persistenceId,
    long sequenceNr,
    String writer,
    String manifest,
    long timestamp,
    Set<String> tags,
    Serialized event,
    @Nullable Serialized metadata) {

  /** The records of one write, in their order. */
  public static List<SerializedEntry> all(AtomicWrite write, Serialization serialization) {
    return CollectionConverters.asJava(write.payload()).stream()
        .map(event -> of(event, serialization))
        .toList();
  }

  private static SerializedEntry of(PersistentRepr written, Serialization serialization) {
    Object event = written.payload();
    Set<String> tags = Set.of();
    if (event instanceof Tagged tagged) {
      event = tagged.payload();
      tags = Set.copyOf(CollectionConverters.asJava(tagged.tags()));
    }
    return new SerializedEntry(
        written.persistenceId(),
        written.sequenceNr(),
        written.writerUuid(),
        written.manifest(),
        System.currentTimeMillis(),
        tags,
        Serialized.of(event, serialization),
        OptionConverters.toJava(written.metadata())
            .map(metadata -> Serialized.of(metadata, serialization))
            .orElse(null));
  }

  public static SerializedEntry of(String persistenceId, NewEntry added) {
    StoredEntry record = added.entry();
    return new SerializedEntry(
        persistenceId,
        record.seq(),
        NewEntry.WRITER,
        "",
        added.at(),
        added.tags(),
        new Serialized(record.payload(), record.serializerId(), record.manifest()),
        null);
  }

  public PersistentRepr read(Serialization serialization) {
    PersistentRepr read =
        PersistentRepr.apply(
                event.read(serialization),
                sequenceNr,
                persistenceId,
                manifest,
                false,
                ActorRef.noSender(),
                writer)
            .withTimestamp(timestamp);
    return metadata == null ? read : read.withMetadata(metadata.read(serialization));
  }

  public StoredEntry stored() {
    return event.stored(sequenceNr);
  }

  public int size() {
    return event.size();
  }

  public OptionalLong dueAt() {
    return tags.stream().map(JournalTags::dueAt).flatMapToLong(OptionalLong::stream).min();
  }

  public OptionalLong forgetAt() {
    return tags.stream().map(JournalTags::forgetAt).flatMapToLong(OptionalLong::stream).min();
  }

  public boolean isTagged(String tag) {
    return tags.contains(tag);
  }

  public boolean isTagged(String from, String to) {
    return tags.stream().anyMatch(tag -> tag.compareTo(from) >= 0 && tag.compareTo(to) <= 0);
  }
}
