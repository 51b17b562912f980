package io.fermata.persistence;

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

/** One journal record as a store of ours keeps it: serialized, so serialization faults show. */
public record SerializedRecord(
    String persistenceId,
    long sequenceNr,
    String writer,
    String manifest,
    long timestamp,
    Set<String> tags,
    Serialized event,
    @Nullable Serialized metadata) {

  /** The records of one write, in their order. */
  public static List<SerializedRecord> all(AtomicWrite write, Serialization serialization) {
    return CollectionConverters.asJava(write.payload()).stream()
        .map(event -> of(event, serialization))
        .toList();
  }

  private static SerializedRecord of(PersistentRepr written, Serialization serialization) {
    Object event = written.payload();
    Set<String> tags = Set.of();
    if (event instanceof Tagged tagged) {
      event = tagged.payload();
      tags = Set.copyOf(CollectionConverters.asJava(tagged.tags()));
    }
    return new SerializedRecord(
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

  public static SerializedRecord of(String persistenceId, NewRecord added) {
    StoredRecord record = added.record();
    return new SerializedRecord(
        persistenceId,
        record.seq(),
        NewRecord.WRITER,
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

  public StoredRecord stored() {
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
