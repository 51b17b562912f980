package io.fermata.agent.state;

import java.util.List;
import java.util.NavigableMap;

/**
 * The entries of a thread's journal that were decided already. Code that is decided again reads
 * messages and files from them; a journal need not be in memory for that.
 */
public interface EarlierEntries {

  /** The events of an entry; none if there is no such entry. */
  List<ThreadEvent> entry(long seq);

  /** The events of some entries before one, the latest first; none at the journal's beginning. */
  List<List<ThreadEvent>> before(long seq, int max);

  /** Entries in memory, by their number. */
  static EarlierEntries of(NavigableMap<Long, List<ThreadEvent>> entries) {
    return new EarlierEntries() {
      @Override
      public List<ThreadEvent> entry(long seq) {
        return entries.getOrDefault(seq, List.of());
      }

      @Override
      public List<List<ThreadEvent>> before(long seq, int max) {
        return entries.headMap(seq, false).descendingMap().values().stream().limit(max).toList();
      }
    };
  }
}
