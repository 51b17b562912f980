package io.fermata.persistence.sql;

import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.pekko.SerializedSnapshot;
import io.fermata.persistence.pekko.SnapshotRange;
import io.fermata.persistence.pekko.StoreJournals;
import io.fermata.persistence.spi.DamagedException;
import io.fermata.persistence.spi.StoreException;
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
 * The journals and snapshots of a relational database. Concurrent requests of many sessions are
 * batched: a disk sync or a round trip costs as much as hundreds of records.
 */
final class SqlJournals implements StoreJournals {

  /** More gains nothing per round trip, and this much fits in memory easily. */
  private static final long BYTES_AT_ONCE = 8 * 1024 * 1024;

  /** Each snapshot may be as large as a session. */
  private static final int SNAPSHOTS_AT_ONCE = 32;

  /** More than can wake at a time; journals beyond it are looked up. */
  private static final int MOST_FRESH = 10_000;

  /** Journals known not to exist, until their sessions have recovered. */
  private final Set<String> fresh = ConcurrentHashMap.newKeySet();

  /** Appends in progress; a session that wakes again must wait for them. */
  private final Map<String, CompletableFuture<?>> writing = new ConcurrentHashMap<>();

  private volatile CompletableFuture<Boolean> next = CompletableFuture.completedFuture(true);

  private final SqlShards shards;
  private final Transactions writer;
  private final Transactions reader;
  private final SqlBackend backend;
  private final Runnable written;
  private final SqlBatches<Append, @Nullable Void> appends;
  private final SqlBatches<String, JournalTip> tips;
  private final SqlBatches<SnapshotRange, Optional<SerializedSnapshot>> snapshots;

  /**
   * @param written is notified after each batch of appends, some of which may have been written
   */
  SqlJournals(SqlBackend backend, Runnable written) {
    SqlJournal journal = backend.journal();
    this.shards = journal.shards();
    this.writer = backend.journalWriter();
    this.reader = backend.journalReader();
    this.backend = backend;
    this.written = written;
    this.appends =
        new SqlBatches<>(
            new SqlBatches.Bounds<>(
                SqlBatches.AT_ONCE, BYTES_AT_ONCE, append -> append.write().size()),
            this::notifying,
            (connection, together) -> {
              requireUnreplaced(together);
              journal.append(connection, together.stream().map(Append::write).toList());
              return Arrays.asList(new @Nullable Void[together.size()]);
            },
            failure ->
                isOfOne(journal, failure)
                    || shards.isMoved(failure)
                    || failure instanceof ReplacedException);
    this.tips =
        new SqlBatches<>(
            SqlBatches.AT_ONCE, reader::query, journal::tips, failure -> isOfOne(journal, failure));
    this.snapshots =
        new SqlBatches<>(
            SNAPSHOTS_AT_ONCE,
            reader::query,
            journal::snapshots,
            failure -> isOfOne(journal, failure));
  }

  /**
   * A write that waits.
   *
   * @param incarnation of the database in which the end that it follows was known
   */
  private record Append(SqlWrite write, long incarnation) {}

  /** A database that was replaced may lack the ends that writes follow. */
  private void requireUnreplaced(List<Append> together) {
    long now = backend.incarnation();
    if (together.stream().anyMatch(append -> append.incarnation() != now)) {
      throw new ReplacedException();
    }
  }

  private <T> CompletableFuture<T> notifying(Transactions.Work<T> appending) {
    return backend.append(appending).whenComplete((done, failure) -> written.run());
  }

  /**
   * A damaged page concerns the sessions on it, and what the database does not take the session
   * that it is of, not those that are served together with them.
   */
  private static boolean isOfOne(SqlJournal journal, Throwable failure) {
    return failure instanceof DamagedException
        || (failure.getCause() instanceof SQLException failed && journal.refusesRecord(failed));
  }

  /** The journal does not exist, as its name was just generated. */
  void expectNew(String persistenceId) {
    if (fresh.size() < MOST_FRESH) {
      fresh.add(persistenceId);
    }
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the appender is notified of a failure
  public CompletionStage<@Nullable Void> append(
      String persistenceId, List<SerializedEntry> write, long incarnation) {
    CompletableFuture<@Nullable Void> appended;
    try {
      appended = appends.ask(new Append(SqlWrite.of(shards, persistenceId, write), incarnation));
    } catch (StoreException moved) {
      return CompletableFuture.failedFuture(moved);
    }
    appended.thenRun(() -> next.complete(true));
    CompletableFuture<?> all = writing.merge(persistenceId, appended, CompletableFuture::allOf);
    return all.handle((done, failure) -> writing.remove(persistenceId, all))
        .thenCompose(removed -> appended);
  }

  @Override
  public long incarnation() {
    return backend.incarnation();
  }

  /** Appends that wait for a batch. */
  int waitingAppends() {
    return appends.waiting();
  }

  /** Requests of sessions that wake, which wait for a batch. */
  int waitingWakes() {
    return tips.waiting() + snapshots.waiting();
  }

  /** Completes when the next append succeeds, unless it is asked again before. */
  CompletableFuture<Boolean> nextAppend() {
    CompletableFuture<Boolean> asked = new CompletableFuture<>();
    next = asked;
    return asked;
  }

  /** Completes when all earlier appends to these journals have ended. */
  CompletableFuture<@Nullable Void> written(Collection<String> persistenceIds) {
    return CompletableFuture.allOf(
        persistenceIds.stream()
            .map(writing::get)
            .filter(Objects::nonNull)
            .map(write -> write.handle((done, failure) -> done))
            .toArray(CompletableFuture[]::new));
  }

  /** The last request of a session before it writes, so the journal is no longer fresh after it. */
  @Override
  public CompletionStage<JournalTip> tip(String persistenceId) {
    return fresh.remove(persistenceId)
        ? CompletableFuture.completedFuture(JournalTip.NONE)
        : written(List.of(persistenceId))
            .thenCompose(written -> tips.ask(persistenceId))
            .thenApply(tip -> tip.requireListed(persistenceId));
  }

  @Override
  public CompletionStage<List<SerializedEntry>> read(
      String persistenceId, long from, long to, long max) {
    return reader.query(connection -> SqlEntries.replay(connection, persistenceId, from, to, max));
  }

  /** The newest record is only marked, so that its sequence number is not reused. */
  @Override
  public CompletionStage<@Nullable Void> deleteTo(String persistenceId, long to) {
    return change(persistenceId, connection -> SqlEntries.deleteTo(connection, persistenceId, to));
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
    return change(snapshot.persistenceId(), connection -> SqlSnapshots.save(connection, snapshot));
  }

  @Override
  public CompletionStage<@Nullable Void> deleteSnapshots(
      String persistenceId, SnapshotSelectionCriteria unwanted) {
    SnapshotRange range = SnapshotRange.of(persistenceId, unwanted);
    return change(persistenceId, connection -> SqlSnapshots.delete(connection, range));
  }

  private CompletionStage<@Nullable Void> change(
      String persistenceId, Transactions.Work<Integer> work) {
    return writer
        .transact(
            connection -> {
              shards.require(connection, List.of(persistenceId));
              return work.on(connection);
            })
        .thenAccept(rows -> {});
  }
}
