package io.fermata.testkit;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Written;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/** A faulty store while a host has it open: every request passes the faults. */
class FaultyOpenStore implements OpenStore {
  private final OpenStore inner;
  private final FaultyStore faults;
  private final FaultyStore.Life life;

  FaultyOpenStore(OpenStore inner, FaultyStore faults, FaultyStore.Life life) {
    this.inner = inner;
    this.faults = faults;
    this.life = life;
  }

  private <T extends @Nullable Object> CompletionStage<T> reach(
      Supplier<CompletionStage<T>> request) {
    return faults.reach(life, request);
  }

  @Override
  public String describe() {
    return inner.describe();
  }

  @Override
  public Config config() {
    return inner.config();
  }

  @Override
  public Setup setup() {
    return new StoreSetup(new Journals(((StoreSetup) inner.setup()).journals()));
  }

  @Override
  public byte[] serverKey() {
    return inner.serverKey();
  }

  @Override
  public boolean supportsListing() {
    return inner.supportsListing();
  }

  @Override
  public int snapshotEvery(int wished) {
    return inner.snapshotEvery(wished);
  }

  @Override
  public void expectNew(String persistenceId) {
    inner.expectNew(persistenceId);
  }

  @Override
  public CompletionStage<List<Unfinished>> unfinished(String after, int max) {
    return reach(() -> inner.unfinished(after, max));
  }

  @Override
  public CompletionStage<List<Due>> due(long fromEpochMillis, long untilEpochMillis, int max) {
    return reach(() -> inner.due(fromEpochMillis, untilEpochMillis, max));
  }

  @Override
  public CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return reach(() -> inner.due(untilEpochMillis, max));
  }

  @Override
  public CompletionStage<Integer> sweep(long nowEpochMillis) {
    return reach(() -> inner.sweep(nowEpochMillis));
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(String persistenceId, long fromSeq, int max) {
    return reach(() -> inner.read(persistenceId, fromSeq, max));
  }

  @Override
  public CompletionStage<List<StoredEntry>> readBack(
      String persistenceId, long beforeSeq, int max) {
    return reach(() -> inner.readBack(persistenceId, beforeSeq, max));
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(Slice slice) {
    return reach(() -> inner.read(slice));
  }

  @Override
  public CompletionStage<@Nullable Void> ping() {
    return reach(inner::ping);
  }

  @Override
  public CompletionStage<StoreProblem> lost() {
    return inner.lost();
  }

  @Override
  public CompletionStage<Long> newest() {
    return reach(inner::newest);
  }

  @Override
  public CompletionStage<List<Written>> written(long afterNumber, int max) {
    return reach(() -> inner.written(afterNumber, max));
  }

  @Override
  public CompletionStage<List<Written>> writtenByAny(long afterNumber, int max) {
    return reach(() -> inner.writtenByAny(afterNumber, max));
  }

  @Override
  public CompletionStage<List<String>> journals(String after, int max) {
    return reach(() -> inner.journals(after, max));
  }

  @Override
  public Directory directory() {
    return new Listing(inner.directory());
  }

  @Override
  public CompletionStage<List<String>> journals(String place) {
    return reach(() -> inner.journals(place));
  }

  @Override
  public CompletionStage<Deleted> delete(Collection<String> persistenceIds) {
    return reach(() -> inner.delete(persistenceIds));
  }

  @Override
  public CompletionStage<@Nullable Void> scrub() {
    return reach(inner::scrub);
  }

  @Override
  public CompletionStage<@Nullable Void> rewrite() {
    return reach(inner::rewrite);
  }

  @Override
  public CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed) {
    return reach(() -> inner.importJournal(persistenceId, records, listed));
  }

  @Override
  public CompletionStage<Integer> importJournal(String persistenceId, Iterable<NewEntry> records) {
    return importJournal(persistenceId, records, null);
  }

  @Override
  public CompletionStage<@Nullable Void> backup(Path file) {
    return reach(() -> inner.backup(file));
  }

  @Override
  public Optional<SharedStore> shared() {
    return inner.shared();
  }

  @Override
  public List<StorePool> pools() {
    return inner.pools();
  }

  @Override
  public void close() {
    inner.close();
  }

  /** What the journal plugin sees. */
  final class Journals implements StoreJournals {
    private final StoreJournals behind;

    private Journals(StoreJournals behind) {
      this.behind = behind;
    }

    FaultyStore faults() {
      return faults;
    }

    @Override
    public long incarnation() {
      return behind.incarnation();
    }

    @Override
    public CompletionStage<@Nullable Void> append(
        String persistenceId, List<SerializedEntry> write, long incarnation) {
      return faults.append(
          life, persistenceId, write, () -> behind.append(persistenceId, write, incarnation));
    }

    @Override
    public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
      return reach(() -> behind.deleteTo(persistenceId, to));
    }

    @Override
    public CompletionStage<List<SerializedEntry>> read(
        String persistenceId, long from, long to, long max) {
      return reach(() -> behind.read(persistenceId, from, to, max));
    }

    @Override
    public CompletionStage<JournalTip> tip(String persistenceId) {
      return reach(() -> behind.tip(persistenceId));
    }

    @Override
    public CompletionStage<Optional<SerializedSnapshot>> snapshot(
        String persistenceId, SnapshotSelectionCriteria wanted) {
      return faults.losesSnapshots() && inner.supportsListing()
          ? reach(() -> CompletableFuture.completedStage(Optional.empty()))
          : reach(() -> behind.snapshot(persistenceId, wanted));
    }

    @Override
    public CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot) {
      return reach(() -> behind.save(snapshot));
    }

    @Override
    public CompletionStage<@Nullable Void> deleteSnapshots(
        String persistenceId, SnapshotSelectionCriteria unwanted) {
      return reach(() -> behind.deleteSnapshots(persistenceId, unwanted));
    }
  }

  /** The list of sessions. */
  private final class Listing implements Directory {
    private final Directory behind;

    private Listing(Directory behind) {
      this.behind = behind;
    }

    @Override
    public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
      return reach(() -> behind.put(entry));
    }

    @Override
    public CompletionStage<@Nullable Void> remove(String persistenceId) {
      return reach(() -> behind.remove(persistenceId));
    }

    @Override
    public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
      return reach(() -> behind.get(persistenceId));
    }

    @Override
    public CompletionStage<DirectoryPage> list(DirectoryQuery query) {
      return reach(() -> behind.list(query));
    }

    @Override
    public CompletionStage<Integer> count(DirectoryQuery query, int most) {
      return reach(() -> behind.count(query, most));
    }

    @Override
    public CompletionStage<@Nullable Void> mark(long number) {
      return reach(() -> behind.mark(number));
    }

    @Override
    public CompletionStage<Long> marked() {
      return reach(behind::marked);
    }
  }
}
