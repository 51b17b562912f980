package io.fermata.testkit;

import io.fermata.persistence.Store;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * A store that acknowledges an entry before it has it, except the first: a crash loses the last.
 */
final class ForgetfulStore implements StoreSource {
  private final Store inner;

  private ForgetfulStore(Store inner) {
    this.inner = inner;
  }

  static Store of(Store inner) {
    return Store.of(new ForgetfulStore(inner));
  }

  @Override
  public OpenStore open() {
    OpenStore open = inner.open();
    FaultyStore none = FaultyStore.of(inner);
    return new FaultyOpenStore(open, none, none.life()) {
      @Override
      public Setup setup() {
        return new StoreSetup(new Late(((StoreSetup) open.setup()).journals()));
      }
    };
  }

  @Override
  public void backup(Path file) {
    inner.backup(file);
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    return inner.verify(damage);
  }

  /** Keeps no snapshots, and the latest entry in memory until the next one comes. */
  private static final class Late implements StoreJournals {
    private final StoreJournals behind;
    private Supplier<CompletionStage<@Nullable Void>> latest =
        () -> CompletableFuture.completedStage(null);

    private Late(StoreJournals behind) {
      this.behind = behind;
    }

    private synchronized CompletionStage<@Nullable Void> flush() {
      Supplier<CompletionStage<@Nullable Void>> writing = latest;
      latest = () -> CompletableFuture.completedStage(null);
      return writing.get();
    }

    @Override
    public synchronized CompletionStage<@Nullable Void> append(
        String persistenceId, List<SerializedEntry> write, long incarnation) {
      List<SerializedEntry> kept = new ArrayList<>(write);
      if (write.get(0).sequenceNr() == 1) {
        return behind.append(persistenceId, kept, incarnation);
      }
      return flush()
          .thenAccept(done -> latest = () -> behind.append(persistenceId, kept, incarnation));
    }

    @Override
    public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
      return flush().thenCompose(done -> behind.deleteTo(persistenceId, to));
    }

    @Override
    public CompletionStage<List<SerializedEntry>> read(
        String persistenceId, long from, long to, long max) {
      return flush().thenCompose(done -> behind.read(persistenceId, from, to, max));
    }

    @Override
    public CompletionStage<JournalTip> tip(String persistenceId) {
      return flush().thenCompose(done -> behind.tip(persistenceId));
    }

    @Override
    public CompletionStage<Optional<SerializedSnapshot>> snapshot(
        String persistenceId, SnapshotSelectionCriteria wanted) {
      return CompletableFuture.completedStage(Optional.empty());
    }

    @Override
    public CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot) {
      return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<@Nullable Void> deleteSnapshots(
        String persistenceId, SnapshotSelectionCriteria unwanted) {
      return CompletableFuture.completedStage(null);
    }
  }
}
