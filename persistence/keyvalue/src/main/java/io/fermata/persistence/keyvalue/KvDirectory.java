package io.fermata.persistence.keyvalue;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.NoHistoryException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The directory of a key-value store: entries can be read by name, not listed. An entry is in the
 * value of its journal: the first is written at once, a change of it with the next record.
 */
record KvDirectory(KvJournals journals, String store) implements Directory {

  @Override
  public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
    return journals.list(entry.persistenceId(), entry).thenAccept(document -> {});
  }

  @Override
  public CompletionStage<@Nullable Void> remove(String persistenceId) {
    return journals
        .change(persistenceId, document -> document.listed(null))
        .thenAccept(document -> {});
  }

  @Override
  public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
    return journals
        .last(persistenceId)
        .thenApply(document -> Optional.ofNullable(document.entry()));
  }

  @Override
  public CompletionStage<DirectoryPage> list(DirectoryQuery query) {
    return unlisted();
  }

  @Override
  public CompletionStage<Integer> count(DirectoryQuery query, int most) {
    return unlisted();
  }

  /** There is no mark where journals cannot be listed. */
  @Override
  public CompletionStage<@Nullable Void> mark(long number) {
    return unlisted();
  }

  @Override
  public CompletionStage<Long> marked() {
    return unlisted();
  }

  private <T extends @Nullable Object> CompletionStage<T> unlisted() {
    return CompletableFuture.failedFuture(NoHistoryException.unlisted(store));
  }
}
