package io.fermata.persistence;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The directory of a memory store. */
final class MemoryDirectory implements Directory {

  private final Map<String, DirectoryEntry> entries = new ConcurrentHashMap<>();

  @Override
  public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
    entries.merge(
        entry.persistenceId(), entry, (old, late) -> late.seq() >= old.seq() ? late : old);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<@Nullable Void> remove(String persistenceId) {
    entries.remove(persistenceId);
    return CompletableFuture.completedFuture(null);
  }

  boolean forget(String persistenceId) {
    return entries.remove(persistenceId) != null;
  }

  Stream<String> names() {
    return entries.keySet().stream();
  }

  @Override
  public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
    return CompletableFuture.completedFuture(Optional.ofNullable(entries.get(persistenceId)));
  }

  @Override
  public CompletionStage<DirectoryPage> list(DirectoryQuery query) {
    DirectoryCursor begin = query.begin();
    List<DirectoryEntry> page =
        entries.values().stream()
            .filter(entry -> matches(query, entry))
            .map(entry -> Map.entry(DirectoryCursor.of(query.order(), entry), entry))
            .filter(
                at -> begin == null || DirectoryCursor.LATEST_FIRST.compare(begin, at.getKey()) < 0)
            .sorted(Map.Entry.comparingByKey(DirectoryCursor.LATEST_FIRST))
            .limit(query.limit() + 1L)
            .map(Map.Entry::getValue)
            .toList();
    return CompletableFuture.completedFuture(query.page(page));
  }

  private static boolean matches(DirectoryQuery query, DirectoryEntry entry) {
    return entry.kind().equals(query.kind())
        && (query.principal() == null || entry.principal().equals(query.principal()))
        && (query.name() == null || entry.name().equals(query.name()))
        && entry.tags().containsAll(query.tags())
        && entry.attributes().entrySet().containsAll(query.attributes().entrySet())
        && (query.text() == null
            || entry.searchable().contains(DirectoryEntry.folded(query.text())));
  }
}
