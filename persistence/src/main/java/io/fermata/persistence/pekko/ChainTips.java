package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.DamagedException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the plugins of an actor system know of the ends of journals, so that an append needs no
 * read. What is forgotten is read again.
 */
final class ChainTips {

  /** More than are awake at a time; more of them cost a read at the next append. */
  private static final int MOST = 20_000;

  private final StoreJournals journals;
  private final Map<String, JournalTip> tips = bounded();
  private final Map<String, JournalTip> snapshots = bounded();
  private final Map<String, DamagedException> damages = bounded();
  private long incarnation;

  ChainTips(StoreJournals journals) {
    this.journals = journals;
    this.incarnation = journals.incarnation();
  }

  private static <V> Map<String, V> bounded() {
    return new LinkedHashMap<>(64, 0.75f, true) {
      private static final long serialVersionUID = 1L;

      @Override
      protected boolean removeEldestEntry(Map.Entry<String, V> leastUsed) {
        return size() > MOST;
      }
    };
  }

  /** The journal ends with this entry, once what is being appended is written. */
  synchronized void put(String persistenceId, JournalTip tip) {
    damages.remove(persistenceId);
    tips.put(persistenceId, tip);
  }

  /** The end of the journal is unknown. */
  synchronized void forget(String persistenceId) {
    tips.remove(persistenceId);
  }

  /** The entry with this number, if it is known to be the last. */
  synchronized @Nullable JournalTip at(String persistenceId, long seq) {
    long now = journals.incarnation();
    if (now != incarnation) {
      incarnation = now;
      tips.clear();
    }
    JournalTip tip = tips.get(persistenceId);
    return tip != null && tip.seq() == seq ? tip : null;
  }

  /** The end of the journal cannot be found. */
  synchronized void damaged(String persistenceId, DamagedException damage) {
    damages.put(persistenceId, damage);
  }

  /** Why the end of the journal could not be found, the last time that it was looked for. */
  synchronized @Nullable DamagedException damage(String persistenceId) {
    return damages.get(persistenceId);
  }

  /** A session recovers from a snapshot with this last entry. */
  synchronized void recovers(String persistenceId, JournalTip snapshot) {
    snapshots.put(persistenceId, snapshot);
  }

  /** The last entry of the snapshot from which a session recovers, if it has this number. */
  synchronized @Nullable JournalTip snapshotAt(String persistenceId, long seq) {
    JournalTip snapshot = snapshots.get(persistenceId);
    return snapshot != null && snapshot.seq() == seq ? snapshot : null;
  }

  synchronized void recovered(String persistenceId) {
    snapshots.remove(persistenceId);
  }
}
