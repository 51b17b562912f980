package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.StoredEntry;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.persistence.AtomicWrite;
import org.apache.pekko.persistence.PersistentRepr;
import org.apache.pekko.persistence.journal.Tagged;
import org.apache.pekko.serialization.Serialization;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One journal entry as a store keeps it. The memory store serializes too, so serialization errors
 * show in tests.
 *
 * @param checksum over the checksum of the entry before it and all that is stored of this one,
 *     except its tags, which a store deletes one by one
 * @param previous the checksum of the entry before it, where that one may be deleted
 */
public record SerializedEntry(
    String persistenceId,
    long sequenceNr,
    String writer,
    long timestamp,
    Set<String> tags,
    Serialized event,
    int checksum,
    @Nullable Integer previous) {

  /** The records of one write, in their order and not in a chain yet. */
  static List<SerializedEntry> all(AtomicWrite write, Serialization serialization) {
    List<SerializedEntry> entries = new ArrayList<>(write.payload().size());
    for (PersistentRepr event : CollectionConverters.asJava(write.payload())) {
      entries.add(of(event, serialization));
    }
    return entries;
  }

  private static SerializedEntry of(PersistentRepr written, Serialization serialization) {
    Serialized.requireNothingElse(written.persistenceId(), written.manifest(), written.metadata());
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
        System.currentTimeMillis(),
        tags,
        Serialized.of(event, serialization),
        0,
        null);
  }

  /** The entries of a journal of another store, as the beginning of one of this store. */
  public static Iterator<SerializedEntry> imported(String persistenceId, Iterable<NewEntry> added) {
    Iterator<NewEntry> records = added.iterator();
    return new Iterator<>() {
      private @Nullable JournalTip last;

      @Override
      public boolean hasNext() {
        return records.hasNext();
      }

      @Override
      public SerializedEntry next() {
        SerializedEntry entry = imported(persistenceId, records.next());
        JournalTip before = last == null ? before(entry.sequenceNr) : last;
        NewEntry.requireNext(persistenceId, before.seq(), entry.sequenceNr);
        SerializedEntry next = entry.chained(before);
        last = next.tip();
        return next;
      }
    };
  }

  private static JournalTip before(long first) {
    return first == 1 ? JournalTip.NONE : new JournalTip(first - 1, 0).withoutContent();
  }

  private static SerializedEntry imported(String persistenceId, NewEntry added) {
    StoredEntry entry = added.entry();
    return new SerializedEntry(
        persistenceId,
        entry.seq(),
        NewEntry.WRITER,
        added.at(),
        added.tags(),
        new Serialized(entry.payload(), entry.serializerId(), entry.manifest()),
        0,
        null);
  }

  /** Consecutive entries with their checksums. */
  public static List<SerializedEntry> chained(List<SerializedEntry> entries, JournalTip before) {
    List<SerializedEntry> chained = new ArrayList<>(entries.size());
    JournalTip last = before;
    for (SerializedEntry entry : entries) {
      SerializedEntry next = entry.chained(last);
      chained.add(next);
      last = next.tip();
    }
    return chained;
  }

  /**
   * An end of a run may become the first of its journal, and so may what follows an entry that is
   * deleted or expires.
   */
  private SerializedEntry chained(JournalTip before) {
    boolean begins = before.deleted() || before.expires() || sweepAt().isPresent();
    return with(checksumAfter(before.checksum()), begins ? before.checksum() : null);
  }

  /** The entry as the first of its journal, after those before it are deleted. */
  public SerializedEntry beginningAfter(int before) {
    return with(checksum, before);
  }

  private SerializedEntry with(int newChecksum, @Nullable Integer newPrevious) {
    return new SerializedEntry(
        persistenceId, sequenceNr, writer, timestamp, tags, event, newChecksum, newPrevious);
  }

  int checksumAfter(int before) {
    return new Checksum()
        .add(before)
        .add(persistenceId)
        .add(sequenceNr)
        .add(writer)
        .add(timestamp)
        .add(event)
        .value();
  }

  public JournalTip tip() {
    return new JournalTip(sequenceNr, checksum, false, forgetAt().isPresent(), 0);
  }

  public PersistentRepr read(Serialization serialization) {
    return PersistentRepr.apply(
            event.read(serialization),
            sequenceNr,
            persistenceId,
            PersistentRepr.Undefined(),
            false,
            ActorRef.noSender(),
            writer)
        .withTimestamp(timestamp);
  }

  public StoredEntry stored() {
    return event.stored(sequenceNr);
  }

  public int size() {
    return event.size();
  }

  public OptionalLong dueAt() {
    return earliest(JournalTags::dueAt);
  }

  public OptionalLong sweepAt() {
    return earliest(JournalTags::sweepAt);
  }

  public OptionalLong forgetAt() {
    return earliest(JournalTags::forgetAt);
  }

  private OptionalLong earliest(Function<String, OptionalLong> time) {
    OptionalLong earliest = OptionalLong.empty();
    for (String tag : tags) {
      OptionalLong at = time.apply(tag);
      if (at.isPresent() && (earliest.isEmpty() || at.getAsLong() < earliest.getAsLong())) {
        earliest = at;
      }
    }
    return earliest;
  }

  public boolean isTagged(String tag) {
    return tags.contains(tag);
  }
}
