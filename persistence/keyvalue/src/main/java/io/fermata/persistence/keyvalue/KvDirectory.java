package io.fermata.persistence.keyvalue;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.spi.NoHistoryException;
import io.fermata.persistence.spi.StoreException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The directory of a key-value store: entries can be read by name, not listed. */
final class KvDirectory implements Directory {

  private static final int TRIES = 20;

  private final KvCalls kv;
  private final Executor executor;
  private final Map<String, CompletableFuture<?>> latest = new ConcurrentHashMap<>();

  KvDirectory(KvCalls kv, Executor executor) {
    this.kv = kv;
    this.executor = executor;
  }

  private static String key(String persistenceId) {
    return "entry:" + persistenceId;
  }

  @Override
  public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
    return inOrder(entry.persistenceId(), () -> put(entry, TRIES));
  }

  private CompletionStage<@Nullable Void> put(DirectoryEntry entry, int tries) {
    String key = key(entry.persistenceId());
    return kv.get(key)
        .thenComposeAsync(
            found -> {
              boolean late =
                  found
                      .map(value -> KvFormat.entry(entry.persistenceId(), value.value()))
                      .filter(there -> there.seq() > entry.seq())
                      .isPresent();
              if (late) {
                return CompletableFuture.completedFuture(Optional.of(""));
              }
              String expected = found.map(KvStore.Versioned::version).orElse(null);
              return kv.set(key, KvFormat.entry(entry), expected, null);
            },
            executor)
        .thenComposeAsync(
            won -> {
              if (won.isPresent()) {
                return CompletableFuture.completedFuture(null);
              }
              return tries > 1
                  ? put(entry, tries - 1)
                  : CompletableFuture.failedFuture(
                      new StoreException(
                          kv.name()
                              + " refused to write "
                              + key
                              + " "
                              + TRIES
                              + " times because others wrote it; the entry will be"
                              + " updated later"));
            },
            executor);
  }

  @Override
  public CompletionStage<@Nullable Void> remove(String persistenceId) {
    return inOrder(persistenceId, () -> kv.delete(key(persistenceId)));
  }

  @Override
  public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
    return inOrder(
        persistenceId,
        () ->
            kv.get(key(persistenceId))
                .thenApplyAsync(
                    found -> found.map(value -> KvFormat.entry(persistenceId, value.value())),
                    executor));
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
    return CompletableFuture.failedFuture(NoHistoryException.unlisted(kv.name()));
  }

  /** Runs after all earlier requests for the same entry, whether they succeeded or not. */
  private <T extends @Nullable Object> CompletionStage<T> inOrder(
      String persistenceId, Supplier<CompletionStage<T>> work) {
    CompletableFuture<T> done = new CompletableFuture<>();
    CompletableFuture<?> before = latest.put(persistenceId, done);
    CompletableFuture<?> turn = before == null ? CompletableFuture.completedFuture(null) : before;
    return turn.handleAsync((past, failed) -> "", executor)
        .thenComposeAsync(nothing -> work.get(), executor)
        .whenComplete(
            (result, thrown) -> {
              latest.remove(persistenceId, done);
              if (thrown != null) {
                done.completeExceptionally(thrown);
              } else {
                done.complete(result);
              }
            });
  }
}
