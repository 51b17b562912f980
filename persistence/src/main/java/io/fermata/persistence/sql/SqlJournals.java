package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.pekko.StoreJournals;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;

/**
 * The journals and snapshots of a relational database. What many sessions ask at the same time is
 * done together: the sync of a disk, and the way to a server, cost what hundreds of records do.
 */
final class SqlJournals implements StoreJournals {

  /** More than one way to the server carries well, and little beside what a host has in memory. */
  private static final long BYTES_AT_ONCE = 8 * 1024 * 1024;

  /** Each may be as large as a session. */
  private static final int SNAPSHOTS_AT_ONCE = 32;

  /** More than can wake at a time; any that are not remembered are looked for. */
  private static final int MOST_FRESH = 10_000;

  /** Journals that do not exist, until their sessions have asked. */
  private final Set<String> fresh = ConcurrentHashMap.newKeySet();

  /** What is being written, which a session that begins anew must not read past. */
  private final Map<String, CompletableFuture<?>> underWay = new ConcurrentHashMap<>();

  private final Transactions writer;
  private final Transactions reader;
  private final SqlBatches<List<SerializedEntry>, @Nullable Void> appends;
  private final SqlBatches<String, Long> highest;
  private final SqlBatches<SnapshotRange, Optional<SerializedSnapshot>> snapshots;

  SqlJournals(SqlBackend backend) {
    SqlJournal journal = backend.journal();
    this.writer = backend.journalWriter();
    this.reader = backend.journalReader();
    this.appends =
        new SqlBatches<>(
            new SqlBatches.Bounds<>(SqlBatches.AT_ONCE, BYTES_AT_ONCE, SqlJournals::size),
            backend::append,
            (connection, writes) -> {
              journal.append(connection, writes.stream().flatMap(Collection::stream).toList());
              return Arrays.asList(new @Nullable Void[writes.size()]);
            },
            failure ->
                failure.getCause() instanceof SQLException failed && journal.refusesRecord(failed));
    this.highest =
        new SqlBatches<>(SqlBatches.AT_ONCE, reader::query, journal::highest, failure -> false);
    this.snapshots =
        new SqlBatches<>(SNAPSHOTS_AT_ONCE, reader::query, journal::snapshots, failure -> false);
  }

  private static long size(List<SerializedEntry> write) {
    return write.stream().mapToLong(SerializedEntry::size).sum();
  }

  /** There can be nothing of a journal, for its name was just made up. */
  void begins(String persistenceId) {
    if (fresh.size() < MOST_FRESH) {
      fresh.add(persistenceId);
    }
  }

  @Override
  public CompletionStage<@Nullable Void> append(String persistenceId, List<SerializedEntry> write) {
    CompletableFuture<@Nullable Void> appended = appends.ask(write);
    CompletableFuture<?> all = underWay.merge(persistenceId, appended, CompletableFuture::allOf);
    return all.handle((done, failure) -> underWay.remove(persistenceId, all))
        .thenCompose(removed -> appended);
  }

  /** Completes when nothing that was asked before is being written to these journals any more. */
  CompletableFuture<@Nullable Void> written(Collection<String> persistenceIds) {
    return CompletableFuture.allOf(
        persistenceIds.stream()
            .map(underWay::get)
            .filter(Objects::nonNull)
            .map(write -> write.handle((done, failure) -> done))
            .toArray(CompletableFuture[]::new));
  }

  /** What a session asks last before it writes, so that it is not fresh after that. */
  @Override
  public CompletionStage<Long> highest(String persistenceId) {
    return fresh.remove(persistenceId)
        ? CompletableFuture.completedFuture(0L)
        : written(List.of(persistenceId)).thenCompose(written -> highest.ask(persistenceId));
  }

  @Override
  public CompletionStage<List<SerializedEntry>> read(
      String persistenceId, long from, long to, long max) {
    return reader.query(connection -> SqlEntries.replay(connection, persistenceId, from, to, max));
  }

  /** The newest record leaves a mark, so that its number is not given again. */
  @Override
  public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
    return done(writer.transact(connection -> SqlEntries.deleteTo(connection, persistenceId, to)));
  }

  @Override
  public CompletionStage<Optional<SerializedSnapshot>> snapshot(
      String persistenceId, SnapshotSelectionCriteria wanted) {
    return fresh.contains(persistenceId)
        ? CompletableFuture.completedFuture(Optional.empty())
        : snapshots.ask(SnapshotRange.of(persistenceId, wanted));
  }

  @Override
  public CompletionStage<@Nullable Void> save(SerializedSnapshot snapshot) {
    return done(writer.transact(connection -> SqlSnapshots.save(connection, snapshot)));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted) {
    SnapshotRange range = SnapshotRange.of(persistenceId, unwanted);
    return done(writer.transact(connection -> SqlSnapshots.delete(connection, range)));
  }

  private static CompletionStage<@Nullable Void> done(CompletionStage<Integer> change) {
    return change.thenAccept(rows -> {});
  }
}
