package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoredEntry;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks that entries are those that were written to a journal, each after the one before it.
 *
 * <p>The checksum of an entry includes that of the entry before it. A journal begins with entry 1,
 * or, where older entries were deleted, with an entry that carries the checksum of the one before
 * it. A snapshot carries that of its last entry.
 */
public final class ChainCheck {

  private final String persistenceId;
  private @Nullable JournalTip last;
  private boolean first = true;

  private ChainCheck(String persistenceId, @Nullable JournalTip last) {
    this.persistenceId = persistenceId;
    this.last = last;
  }

  /**
   * Checks entries in ascending order.
   *
   * @param before the entry before the first, null if it is not known
   */
  public static ChainCheck after(String persistenceId, @Nullable JournalTip before) {
    return new ChainCheck(persistenceId, before);
  }

  /** Checks the next entry. */
  public void accept(SerializedEntry entry) {
    int before = before(entry);
    Integer previous = entry.previous();
    if ((previous != null && previous != before)
        || !entry.persistenceId().equals(persistenceId)
        || entry.checksumAfter(before) != entry.checksum()) {
      throw damaged(
          "entry " + entry.sequenceNr() + " was altered, or is not an entry of this journal");
    }
    last = entry.tip();
    first = false;
  }

  private int before(SerializedEntry entry) {
    long seq = entry.sequenceNr();
    JournalTip known = last;
    if (known != null && known.seq() == seq - 1) {
      return known.checksum();
    } else if (known != null && known.seq() >= seq) {
      throw damaged("entry " + seq + " is stored twice");
    }
    Integer previous = entry.previous();
    if (first && previous != null) {
      return previous;
    } else if (known == null && seq == 1) {
      return 0;
    }
    throw missing(known == null ? seq - 1 : known.seq() + 1);
  }

  /** Refuses a journal whose checked entries do not end with its newest one. */
  public void requireEnd(JournalTip tip) {
    long reached = reached();
    if (reached < tip.seq() && !tip.deleted()) {
      throw missing(reached + 1);
    } else if (last != null && last.checksum() != tip.checksum()) {
      throw damaged("entry " + reached + " is not the last that was written");
    }
  }

  /**
   * Refuses a snapshot that is not what was written.
   *
   * @param entry its last entry, null if that was deleted
   */
  public void requireFits(SerializedSnapshot snapshot, @Nullable SerializedEntry entry) {
    if (!snapshot.isIntact() || (entry != null && entry.checksum() != snapshot.last())) {
      throw damaged("the snapshot of entry " + snapshot.sequenceNr() + " was altered");
    }
  }

  /** The number of the last entry checked, or of the one before the first; 0 for none. */
  public long reached() {
    return last == null ? 0 : last.seq();
  }

  /** The last entry checked, or the one before the first. */
  public @Nullable JournalTip last() {
    return last;
  }

  public DamagedException missing(long seq) {
    return damaged("entry " + seq + " is missing");
  }

  private DamagedException damaged(String damage) {
    return DamagedException.ofJournal(persistenceId, damage);
  }

  /**
   * The entries of a slice, checked.
   *
   * @param found those of the slice in its order, and the one before them if there is one
   */
  public static List<StoredEntry> checked(Slice slice, List<SerializedEntry> found) {
    List<SerializedEntry> ascending = new ArrayList<>(found);
    if (slice.backwards()) {
      Collections.reverse(ascending);
    }
    boolean hasAnchor =
        !ascending.isEmpty()
            && (slice.backwards()
                ? found.size() > slice.max()
                : ascending.get(0).sequenceNr() < slice.edge());
    JournalTip anchor = hasAnchor ? ascending.remove(0).tip() : null;
    ChainCheck check = after(slice.persistenceId(), anchor);
    List<StoredEntry> checked = new ArrayList<>(ascending.size());
    for (SerializedEntry entry : ascending) {
      if (checked.size() < slice.max()) {
        check.accept(entry);
        checked.add(entry.stored());
      }
    }
    if (slice.backwards()) {
      Collections.reverse(checked);
    }
    return checked;
  }
}
