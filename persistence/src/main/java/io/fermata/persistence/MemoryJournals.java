package io.fermata.persistence;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * All journals of one memory store. Each is guarded by itself, so sessions do not wait on others.
 */
final class MemoryJournals {

  private final Map<String, MemoryJournal> journals = new ConcurrentHashMap<>();
  private final Set<String> ended = ConcurrentHashMap.newKeySet();
  private final Map<String, Long> due = new ConcurrentHashMap<>();
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

  void append(String persistenceId, List<MemoryRecord> records) {
    of(persistenceId).append(records);
    remember(persistenceId, records.get(records.size() - 1).dueAt());
    if (records.stream().anyMatch(record -> record.isTagged(JournalTags.ENDED))) {
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

  List<String> after(String persistenceId, int max) {
    return journals.keySet().stream()
        .filter(journal -> journal.compareTo(persistenceId) > 0)
        .filter(journal -> !of(journal).read(Slice.from(journal, 1, 1)).isEmpty())
        .sorted()
        .limit(max)
        .toList();
  }

  void forget(String persistenceId) {
    journals.remove(persistenceId);
    ended.remove(persistenceId);
    due.remove(persistenceId);
    directory.remove(persistenceId);
  }
}
