package io.fermata.persistence.memory;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreConfig;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.ServerKey;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Written;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * All journals of one memory store, for every host that opens it. Each has its own lock, so
 * sessions do not wait for each other.
 */
final class OpenMemoryStore implements OpenStore, StoreJournals {

  static final String NAME = "memory";

  private final Map<String, MemoryJournal> journals = new ConcurrentHashMap<>();
  private final NavigableSet<Due> upkeep =
      new ConcurrentSkipListSet<>(
          Comparator.comparingLong(Due::at).thenComparing(Due::persistenceId));
  private final Map<String, Long> due = new ConcurrentHashMap<>();
  private final Map<String, Long> newest = new ConcurrentHashMap<>();
  private final AtomicLong records = new AtomicLong();
  private final MemoryDirectory directory = new MemoryDirectory();
  private final byte[] serverKey = ServerKey.random();

  @Override
  public String describe() {
    return NAME;
  }

  @Override
  public Config config() {
    return StoreConfig.load();
  }

  @Override
  public Setup setup() {
    return new StoreSetup(this);
  }

  @Override
  public byte[] serverKey() {
    return serverKey.clone();
  }

  // --- the plugins

  @Override
  public CompletionStage<@Nullable Void> append(
      String persistenceId, List<SerializedEntry> write, long incarnation) {
    return done(() -> add(persistenceId, write));
  }

  private void add(String persistenceId, List<SerializedEntry> added) {
    of(persistenceId).append(added);
    newest.put(persistenceId, records.addAndGet(added.size()));
    remember(persistenceId, added.get(added.size() - 1).dueAt());
    for (SerializedEntry record : added) {
      for (String tag : record.tags()) {
        JournalTags.upkeepAt(tag).ifPresent(at -> upkeep.add(new Due(persistenceId, at)));
      }
    }
  }

  @Override
  public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
    return done(() -> of(persistenceId).deleteTo(to));
  }

  @Override
  public CompletionStage<List<SerializedEntry>> read(
      String persistenceId, long from, long to, long max) {
    return CompletableFuture.completedFuture(of(persistenceId).read(from, to, max));
  }

  @Override
  public CompletionStage<JournalTip> tip(String persistenceId) {
    return CompletableFuture.completedFuture(of(persistenceId).tip());
  }

  @Override
  public CompletionStage<Optional<SerializedSnapshot>> snapshot(
      String persistenceId, SnapshotSelectionCriteria wanted) {
    return CompletableFuture.completedFuture(
        of(persistenceId).newestSnapshot(snapshot -> wanted.matches(snapshot.key())));
  }

  @Override
  public CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot) {
    return done(() -> of(snapshot.persistenceId()).save(snapshot));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted) {
    return done(
        () -> of(persistenceId).deleteSnapshots(snapshot -> unwanted.matches(snapshot.key())));
  }

  MemoryJournal of(String persistenceId) {
    // Reading takes no lock, unlike computeIfAbsent.
    MemoryJournal known = journals.get(persistenceId);
    return known == null
        ? journals.computeIfAbsent(persistenceId, id -> new MemoryJournal())
        : known;
  }

  private void remember(String persistenceId, OptionalLong at) {
    if (at.isPresent()) {
      due.put(persistenceId, at.getAsLong());
    } else {
      due.remove(persistenceId);
    }
  }

  private static CompletionStage<@Nullable Void> done(Runnable work) {
    try {
      work.run();
      return CompletableFuture.completedFuture(null);
    } catch (RuntimeException failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  // --- the host

  @Override
  public CompletionStage<List<Unfinished>> unfinished(String after, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(
        journals.entrySet().stream()
            .filter(journal -> journal.getKey().compareTo(after) > 0)
            .filter(journal -> journal.getValue().lastIsTagged(JournalTags.UNFINISHED))
            .map(Map.Entry::getKey)
            .sorted()
            .limit(max)
            .map(id -> new Unfinished(id, id))
            .toList());
  }

  @Override
  public CompletionStage<List<Due>> due(long from, long until, int max) {
    return CompletableFuture.completedFuture(
        due.entrySet().stream()
            .map(journal -> new Due(journal.getKey(), journal.getValue()))
            .filter(journal -> from <= journal.at() && journal.at() <= until)
            .sorted(Comparator.comparingLong(Due::at))
            .limit(max)
            .toList());
  }

  @Override
  public CompletionStage<Integer> sweep(long now) {
    Set<String> swept = new HashSet<>();
    for (Due next = upkeep.pollFirst(); next != null; next = upkeep.pollFirst()) {
      if (next.at() > now) {
        upkeep.add(next);
        break;
      }
      if (sweep(next.persistenceId(), now)) {
        swept.add(next.persistenceId());
      }
    }
    return CompletableFuture.completedFuture(swept.size());
  }

  private boolean sweep(String persistenceId, long now) {
    MemoryJournal journal = journals.get(persistenceId);
    if (journal == null) {
      return false;
    } else if (journal.over(now)) {
      forget(List.of(persistenceId));
      return true;
    }
    OptionalLong end = journal.sweep(now);
    end.ifPresent(seq -> directory.forgetParts(persistenceId, seq));
    return end.isPresent();
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(Slice slice) {
    return CompletableFuture.completedFuture(slice(slice));
  }

  private List<StoredEntry> slice(Slice slice) {
    MemoryJournal journal = journals.get(slice.persistenceId());
    return journal == null ? List.of() : journal.read(slice);
  }

  @Override
  public CompletionStage<@Nullable Void> ping() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Long> newest() {
    return CompletableFuture.completedFuture(records.get());
  }

  /** Each journal once, at its newest record. */
  @Override
  public CompletionStage<List<Written>> written(long after, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(
        newest.entrySet().stream()
            .map(journal -> new Written(journal.getValue(), journal.getKey()))
            .filter(journal -> journal.number() > after)
            .sorted(Comparator.comparingLong(Written::number))
            .limit(max)
            .toList());
  }

  @Override
  public CompletionStage<List<String>> journals(String after, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(
        journals.keySet().stream()
            .filter(id -> id.compareTo(after) > 0)
            .filter(id -> !slice(Slice.from(id, 1, 1)).isEmpty())
            .sorted()
            .limit(max)
            .toList());
  }

  @Override
  public Directory directory() {
    return directory;
  }

  @Override
  public CompletionStage<List<String>> journals(String place) {
    return CompletableFuture.completedFuture(
        Stream.concat(
                journals.entrySet().stream()
                    .filter(journal -> journal.getValue().content(0).journals() > 0)
                    .map(Map.Entry::getKey),
                directory.names().map(DirectoryEntry::journalOf))
            .filter(
                id -> id.indexOf('|') >= 0 && id.substring(id.indexOf('|') + 1).startsWith(place))
            .distinct()
            .sorted()
            .toList());
  }

  @Override
  public CompletionStage<Deleted> delete(Collection<String> persistenceIds) {
    return CompletableFuture.completedFuture(forget(persistenceIds));
  }

  private Deleted forget(Collection<String> persistenceIds) {
    Deleted all = Deleted.NOTHING;
    for (String persistenceId : persistenceIds) {
      MemoryJournal journal = journals.remove(persistenceId);
      newest.remove(persistenceId);
      int entries = directory.forget(persistenceId);
      due.remove(persistenceId);
      all = all.and(journal == null ? Deleted.of(0, 0, entries) : journal.content(entries));
    }
    return all;
  }

  @Override
  public CompletionStage<@Nullable Void> scrub() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed) {
    try {
      int adopted = adopt(persistenceId, records);
      if (listed != null) {
        directory.put(listed).toCompletableFuture().join();
      }
      return CompletableFuture.completedFuture(adopted);
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  private int adopt(String persistenceId, Iterable<NewEntry> records) {
    List<SerializedEntry> imported = new ArrayList<>();
    SerializedEntry.imported(persistenceId, records).forEachRemaining(imported::add);
    if (!slice(Slice.from(persistenceId, 0, 1)).isEmpty()) {
      throw NewEntry.present(persistenceId);
    }
    if (!imported.isEmpty()) {
      add(persistenceId, imported);
    }
    return imported.size();
  }

  @Override
  public CompletionStage<@Nullable Void> backup(Path file) {
    return CompletableFuture.failedFuture(MemoryStore.noBackup());
  }

  /** Keeps the journals: a test that opens the same store again finds them. */
  @Override
  public void close() {}
}
