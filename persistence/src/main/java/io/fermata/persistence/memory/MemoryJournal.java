package io.fermata.persistence.memory;

import io.fermata.persistence.pekko.ChainCheck;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoredEntry;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Predicate;

/** One journal of a memory store: its records, its snapshots and its last record. */
final class MemoryJournal {

  private final NavigableMap<Long, SerializedEntry> records = new TreeMap<>();
  private final NavigableMap<Long, SerializedSnapshot> snapshots = new TreeMap<>();
  private JournalTip tip = JournalTip.NONE;

  synchronized void append(List<SerializedEntry> added) {
    for (SerializedEntry record : added) {
      if (record.sequenceNr() <= tip.seq()) {
        throw new IllegalStateException(
            "Sequence number "
                + record.sequenceNr()
                + " is already written, the journal is at "
                + tip.seq()
                + "; two actors with this persistence id are running");
      }
      records.put(record.sequenceNr(), record);
      tip = record.tip();
    }
  }

  synchronized List<SerializedEntry> read(long from, long to, long max) {
    if (from > to) {
      return List.of();
    }
    return records.subMap(from, true, to, true).values().stream().limit(max).toList();
  }

  synchronized List<StoredEntry> read(Slice slice) {
    NavigableMap<Long, SerializedEntry> wanted =
        slice.backwards()
            ? records.headMap(slice.edge(), false).descendingMap()
            : records.tailMap(slice.edge() - 1, true);
    return ChainCheck.checked(slice, wanted.values().stream().limit(slice.max() + 1L).toList());
  }

  /** Survives every deletion of records: sequence numbers are never reused. */
  synchronized JournalTip tip() {
    return tip;
  }

  synchronized void deleteTo(long to) {
    Map.Entry<Long, SerializedEntry> deleted = records.floorEntry(to);
    if (deleted == null) {
      return;
    }
    records.headMap(to, true).clear();
    if (records.isEmpty()) {
      tip = tip.withoutContent();
    } else {
      records.computeIfPresent(
          deleted.getKey() + 1,
          (seq, first) -> first.beginningAfter(deleted.getValue().checksum()));
    }
  }

  synchronized boolean lastIsTagged(String tag) {
    return !records.isEmpty() && records.lastEntry().getValue().isTagged(tag);
  }

  /**
   * Deletes everything before the newest end of a run whose sweep time has passed, as has that of
   * all earlier ends, and the ends that have expired. Returns the number of that end, if there is
   * one.
   */
  synchronized OptionalLong sweep(long now) {
    OptionalLong end = OptionalLong.empty();
    OptionalLong over = OptionalLong.empty();
    for (SerializedEntry record : records.values()) {
      OptionalLong sweptAt = record.sweepAt();
      if (sweptAt.isPresent() && sweptAt.getAsLong() > now) {
        break;
      }
      OptionalLong seq = OptionalLong.of(record.sequenceNr());
      end = sweptAt.isPresent() ? seq : end;
      over = record.forgetAt().orElse(Long.MAX_VALUE) <= now ? seq : over;
    }
    end.ifPresent(this::forgetBefore);
    over.ifPresent(this::forgetUpTo);
    return end;
  }

  /** Whether the whole journal can be deleted. */
  synchronized boolean over(long now) {
    return !records.isEmpty()
        && records.lastEntry().getValue().forgetAt().orElse(Long.MAX_VALUE) <= now
        && records.values().stream().allMatch(record -> record.sweepAt().orElse(0) <= now);
  }

  synchronized Deleted content(int entries) {
    return Deleted.of(records.size(), snapshots.size(), entries);
  }

  private void forgetBefore(long sequenceNr) {
    records.headMap(sequenceNr, false).clear();
    snapshots.headMap(sequenceNr, false).clear();
  }

  /** The snapshots of what follows contain it, too. */
  private void forgetUpTo(long sequenceNr) {
    records.headMap(sequenceNr, true).clear();
    snapshots.clear();
  }

  synchronized void save(SerializedSnapshot snapshot) {
    snapshots.put(snapshot.sequenceNr(), snapshot);
  }

  synchronized Optional<SerializedSnapshot> newestSnapshot(Predicate<SerializedSnapshot> wanted) {
    return snapshots.descendingMap().values().stream().filter(wanted).findFirst();
  }

  synchronized List<Long> snapshots() {
    return List.copyOf(snapshots.keySet());
  }

  synchronized void deleteSnapshots(Predicate<SerializedSnapshot> unwanted) {
    snapshots.values().removeIf(unwanted);
  }
}
