package io.fermata.persistence.memory;

import com.typesafe.config.Config;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.pekko.StoreConfig;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.Deleted;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.spi.Written;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;

/** A memory store while a host uses it. */
final class OpenMemoryStore implements OpenStore {

  static final String NAME = "memory";

  private final MemoryJournals journals;

  OpenMemoryStore(MemoryJournals journals) {
    this.journals = journals;
  }

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
    return new StoreSetup(journals);
  }

  @Override
  public byte[] serverKey() {
    return journals.serverKey();
  }

  @Override
  public CompletionStage<List<Unfinished>> unfinished(String after, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(
        journals.working().stream()
            .sorted()
            .filter(id -> id.compareTo(after) > 0)
            .limit(max)
            .map(id -> new Unfinished(id, id))
            .toList());
  }

  @Override
  public CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return CompletableFuture.completedFuture(journals.due(untilEpochMillis, max));
  }

  @Override
  public CompletionStage<Integer> sweep(long nowEpochMillis) {
    return CompletableFuture.completedFuture(journals.sweep(nowEpochMillis));
  }

  @Override
  public CompletionStage<List<StoredEntry>> read(Slice slice) {
    return CompletableFuture.completedFuture(journals.read(slice));
  }

  @Override
  public CompletionStage<@Nullable Void> ping() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Long> newest() {
    return CompletableFuture.completedFuture(journals.newest());
  }

  @Override
  public CompletionStage<List<Written>> written(long afterNumber, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(journals.written(afterNumber, max));
  }

  @Override
  public CompletionStage<List<String>> journals(String after, int max) {
    Slice.requireMax(max);
    return CompletableFuture.completedFuture(journals.after(after, max));
  }

  @Override
  public Directory directory() {
    return journals.directory();
  }

  @Override
  public CompletionStage<List<String>> journals(String place) {
    return CompletableFuture.completedFuture(journals.named(place));
  }

  @Override
  public CompletionStage<Deleted> delete(Collection<String> persistenceIds) {
    return CompletableFuture.completedFuture(journals.forget(List.copyOf(persistenceIds)));
  }

  @Override
  public CompletionStage<@Nullable Void> scrub() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Integer> importJournal(
      String persistenceId, Iterable<NewEntry> records, @Nullable DirectoryEntry listed) {
    try {
      int adopted = journals.adopt(persistenceId, records);
      if (listed != null) {
        directory().put(listed).toCompletableFuture().join();
      }
      return CompletableFuture.completedFuture(adopted);
    } catch (RuntimeException refused) {
      return CompletableFuture.failedFuture(refused);
    }
  }

  @Override
  public CompletionStage<@Nullable Void> backup(Path file) {
    return CompletableFuture.failedFuture(MemoryStore.noBackup());
  }

  /** Keeps the journals: a test that opens the same store again finds them. */
  @Override
  public void close() {}
}
