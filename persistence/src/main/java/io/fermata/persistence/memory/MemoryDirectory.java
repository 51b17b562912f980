package io.fermata.persistence.memory;

import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryCursor;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryPage;
import io.fermata.persistence.directory.DirectoryQuery;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The directory of a memory store. */
final class MemoryDirectory implements Directory {

  private final NavigableMap<String, DirectoryEntry> entries = new ConcurrentSkipListMap<>();
  private final AtomicLong mark = new AtomicLong();

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

  /** Removes the entries of a journal and of its parts. */
  int forget(String persistenceId) {
    int own = entries.remove(persistenceId) == null ? 0 : 1;
    return own + forgetParts(persistenceId, Long.MAX_VALUE);
  }

  /** Removes the entries of the parts of a journal up to a record, not its own. */
  int forgetParts(String persistenceId, long lastSeq) {
    List<String> gone =
        parts(persistenceId).values().stream()
            .takeWhile(entry -> entry.seq() <= lastSeq)
            .map(DirectoryEntry::persistenceId)
            .toList();
    gone.forEach(entries::remove);
    return gone.size();
  }

  private Map<String, DirectoryEntry> parts(String persistenceId) {
    // A slash follows the dot.
    return entries.subMap(persistenceId + ".", persistenceId + "/");
  }

  @Override
  public CompletionStage<@Nullable Void> mark(long number) {
    mark.set(number);
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletionStage<Long> marked() {
    return CompletableFuture.completedFuture(mark.get());
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
    Comparator<DirectoryCursor> order = DirectoryCursor.in(query.order());
    Stream<DirectoryEntry> from =
        entries.values().stream()
            .filter(
                entry ->
                    begin == null
                        || order.compare(begin, DirectoryCursor.of(query.order(), entry)) < 0);
    List<DirectoryEntry> matches = matching(query, from).toList();
    return CompletableFuture.completedFuture(query.page(matches, null));
  }

  @Override
  public CompletionStage<Integer> count(DirectoryQuery query, int most) {
    return CompletableFuture.completedFuture(
        (int) matching(query, entries.values().stream()).limit(most).count());
  }

  private static Stream<DirectoryEntry> matching(
      DirectoryQuery query, Stream<DirectoryEntry> entries) {
    String text = query.text() == null ? null : DirectoryEntry.folded(query.text());
    return entries
        .filter(entry -> matches(query, entry))
        .filter(entry -> text == null || entry.searchable().contains(text));
  }

  private static boolean matches(DirectoryQuery query, DirectoryEntry entry) {
    return entry.kind().equals(query.kind())
        && (query.principal() == null || entry.principal().equals(query.principal()))
        && (query.name() == null || entry.name().equals(query.name()))
        && (query.session() == null || entry.session().equals(query.session()))
        && (query.statuses().isEmpty() || query.statuses().contains(entry.statusName()))
        && query.created().contains(entry.createdAt())
        && query.since().contains(entry.since())
        && entry.tags().containsAll(query.tags())
        && entry.attributes().entrySet().containsAll(query.attributes().entrySet());
  }
}
