package io.fermata.persistence;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * All journals of one memory store. Each is guarded by itself, so sessions do not wait on others.
 */
final class MemoryJournals {

  private final Map<String, MemoryJournal> journals = new ConcurrentHashMap<>();
  private final Set<String> ended = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> due = new ConcurrentHashMap<>();
  private final Map<String, Long> newest = new ConcurrentHashMap<>();
  private final AtomicLong records = new AtomicLong();
  private final MemoryDirectory directory = new MemoryDirectory();
  private final byte[] serverKey = ServerKey.random();

  byte[] serverKey() {
    return serverKey.clone();
  }

  MemoryDirectory directory() {
    return directory;
  }

  MemoryJournal of(String persistenceId) {
    return journals.computeIfAbsent(persistenceId, id -> new MemoryJournal());
  }

  void append(String persistenceId, List<MemoryRecord> added) {
    of(persistenceId).append(added);
    newest.put(persistenceId, records.addAndGet(added.size()));
    remember(persistenceId, added.get(added.size() - 1).dueAt());
    if (added.stream().anyMatch(record -> record.isTagged(JournalTags.ENDED))) {
      ended.add(persistenceId);
    }
  }

  private void remember(String persistenceId, OptionalLong at) {
    if (at.isPresent()) {
      due.put(persistenceId, at.getAsLong());
    } else {
      due.remove(persistenceId);
    }
  }

  List<Due> due(long until, int max) {
    return due.entrySet().stream()
        .map(journal -> new Due(journal.getKey(), journal.getValue()))
        .filter(journal -> journal.at() <= until)
        .sorted(Comparator.comparingLong(Due::at))
        .limit(max)
        .toList();
  }

  List<String> working() {
    return journals.entrySet().stream()
        .filter(journal -> journal.getValue().lastIsTagged(JournalTags.WORKING))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }

  int sweep() {
    Set<String> due = Set.copyOf(ended);
    // Forgotten first: a run that ends meanwhile is remembered for the next sweep.
    ended.removeAll(due);
    due.forEach(persistenceId -> of(persistenceId).sweep());
    return due.size();
  }

  List<StoredRecord> read(Slice slice) {
    MemoryJournal journal = journals.get(slice.persistenceId());
    return journal == null ? List.of() : journal.read(slice);
  }

  long newest() {
    return records.get();
  }

  /** Each journal once, at its newest record. */
  List<Written> written(long after, int max) {
    return newest.entrySet().stream()
        .map(journal -> new Written(journal.getValue(), journal.getKey()))
        .filter(journal -> journal.number() > after)
        .sorted(Comparator.comparingLong(Written::number))
        .limit(max)
        .toList();
  }

  List<String> after(String persistenceId, int max) {
    return newest.keySet().stream()
        .filter(journal -> journal.compareTo(persistenceId) > 0)
        .sorted()
        .limit(max)
        .toList();
  }

  void forget(String persistenceId) {
    journals.remove(persistenceId);
    newest.remove(persistenceId);
    ended.remove(persistenceId);
    due.remove(persistenceId);
    directory.forget(persistenceId);
  }
}
