package io.fermata.persistence.keyvalue;

import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.ChainCheck;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoredEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A journal as one value of a key-value store: the newest snapshot, the records after it, a few
 * before it, and its entry in the directory.
 *
 * @param tip the newest record ever written
 * @param lostTo the highest sequence number whose record was dropped because a snapshot covers it
 * @param entry null if the directory has none
 */
record KvDocument(
    JournalTip tip,
    long lostTo,
    @Nullable SerializedSnapshot snapshot,
    List<SerializedEntry> records,
    @Nullable DirectoryEntry entry) {

  static final KvDocument NONE = new KvDocument(JournalTip.NONE, 0, null, List.of(), null);

  /** How many bytes of records before a snapshot are kept, so that the latest can still be read. */
  static final int KEPT_BEFORE_SNAPSHOT = 16 * 1024;

  /** The demand of a journal with unfinished work. */
  static final long WORKING = -1;

  /** The demand of a journal that needs no attention. */
  static final long NOTHING = Long.MAX_VALUE;

  /** An imported journal. */
  static KvDocument of(List<SerializedEntry> records) {
    JournalTip before = new JournalTip(records.get(0).sequenceNr() - 1, 0);
    return new KvDocument(before, 0, null, List.of(), null).append(records);
  }

  /** With an entry of the directory, unless it has a later one. */
  KvDocument list(DirectoryEntry changed) {
    return entry != null && entry.seq() > changed.seq() ? this : listed(changed);
  }

  KvDocument listed(@Nullable DirectoryEntry changed) {
    return new KvDocument(tip, lostTo, snapshot, records, changed);
  }

  /**
   * Appends records. If one may be swept at any time, everything before it is dropped at once, and
   * so is what has expired by now.
   */
  KvDocument append(List<SerializedEntry> added) {
    SerializedEntry first = added.get(0);
    if (first.sequenceNr() != tip.seq() + 1) {
      throw new StoreException(
          "Record "
              + first.sequenceNr()
              + " of "
              + first.persistenceId()
              + " does not follow record "
              + tip.seq()
              + ", the last in the store: another process wrote this journal, or the"
              + " store lost data. The session recovers from the current value; retry");
    }
    List<SerializedEntry> all = Stream.concat(records.stream(), added.stream()).toList();
    JournalTip last = all.get(all.size() - 1).tip();
    for (int i = all.size() - 1; i >= records.size(); i--) {
      if (all.get(i).sweepAt().isPresent()) {
        return new KvDocument(last, 0, null, current(all.subList(i, all.size())), entry);
      }
    }
    return new KvDocument(last, lostTo, snapshot, current(all), entry);
  }

  /** The records that are kept when the last of them is written. */
  private static List<SerializedEntry> current(List<SerializedEntry> all) {
    int last = all.size() - 1;
    long now = all.get(last).timestamp();
    for (int i = last - 1; i >= 0; i--) {
      if (all.get(i).forgetAt().orElse(Long.MAX_VALUE) <= now) {
        return List.copyOf(all.subList(i + 1, all.size()));
      }
    }
    return List.copyOf(all);
  }

  KvDocument save(SerializedSnapshot taken) {
    boolean late = snapshot != null && snapshot.sequenceNr() > taken.sequenceNr();
    boolean ended = !records.isEmpty() && records.get(0).sequenceNr() > taken.sequenceNr();
    if (late || ended) {
      return this;
    }
    int kept = records.size() - 1;
    int bytes = 0;
    while (kept > 0 && stays(records.get(kept - 1), taken.sequenceNr(), bytes)) {
      kept--;
      bytes += records.get(kept).sequenceNr() > taken.sequenceNr() ? 0 : records.get(kept).size();
    }
    return kept <= 0
        ? new KvDocument(tip, lostTo, taken, records, entry)
        : new KvDocument(tip, records.get(kept - 1).sequenceNr(), taken, from(kept), entry);
  }

  /** The records from an index on, of which the first becomes that of the journal. */
  private List<SerializedEntry> from(int index) {
    List<SerializedEntry> left = new ArrayList<>(records.subList(index, records.size()));
    if (index > 0 && !left.isEmpty()) {
      left.set(0, left.get(0).beginningAfter(records.get(index - 1).checksum()));
    }
    return List.copyOf(left);
  }

  private static boolean stays(SerializedEntry record, long snapshot, int bytes) {
    return record.sequenceNr() > snapshot || bytes + record.size() <= KEPT_BEFORE_SNAPSHOT;
  }

  KvDocument deleteTo(long to) {
    int deleted = (int) records.stream().filter(record -> record.sequenceNr() <= to).count();
    boolean all = deleted > 0 && deleted == records.size();
    JournalTip last = all ? tip.withoutContent() : tip;
    return new KvDocument(last, lostTo, snapshot, from(deleted), entry);
  }

  KvDocument deleteSnapshots(Predicate<SerializedSnapshot> unwanted) {
    return snapshot != null && unwanted.test(snapshot)
        ? new KvDocument(tip, lostTo, null, records, entry)
        : this;
  }

  Optional<SerializedSnapshot> snapshot(Predicate<SerializedSnapshot> wanted) {
    return Optional.ofNullable(snapshot).filter(wanted);
  }

  List<SerializedEntry> read(String persistenceId, long from, long to, long max) {
    requireKept(persistenceId, from, to);
    return records.stream()
        .filter(record -> record.sequenceNr() >= from && record.sequenceNr() <= to)
        .limit(max)
        .toList();
  }

  private void requireKept(String persistenceId, long from, long to) {
    if (from <= lostTo && from <= to) {
      throw new NoHistoryException(
          "The records of "
              + persistenceId
              + " up to "
              + lostTo
              + " are deleted: a key-value store keeps no history before a snapshot. Read"
              + " from record "
              + (lostTo + 1)
              + ", or use a database");
    }
  }

  List<StoredEntry> read(Slice slice) {
    List<SerializedEntry> found = new ArrayList<>();
    if (!slice.backwards()) {
      long from = Math.max(1, slice.edge());
      requireKept(slice.persistenceId(), from, Long.MAX_VALUE);
      records.stream()
          .filter(record -> record.sequenceNr() >= from - 1)
          .limit(slice.max() + 1L)
          .forEach(found::add);
    } else {
      for (int i = records.size() - 1; i >= 0 && found.size() <= slice.max(); i--) {
        if (records.get(i).sequenceNr() < slice.edge()) {
          found.add(records.get(i));
        }
      }
    }
    return ChainCheck.checked(slice, found);
  }

  /** When the journal expires, in milliseconds since 1970. */
  OptionalLong forgetAt() {
    return records.isEmpty() ? OptionalLong.empty() : records.get(records.size() - 1).forgetAt();
  }

  Deleted content() {
    return Deleted.of(records.size(), snapshot == null ? 0 : 1, entry == null ? 0 : 1);
  }

  /** When the session needs attention: a time, {@link #WORKING} or {@link #NOTHING}. */
  long demand() {
    if (records.isEmpty()) {
      return NOTHING;
    }
    SerializedEntry last = records.get(records.size() - 1);
    return last.isTagged(JournalTags.UNFINISHED) ? WORKING : last.dueAt().orElse(NOTHING);
  }
}
