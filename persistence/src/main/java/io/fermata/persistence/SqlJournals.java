package io.fermata.persistence;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The journals and snapshots of a relational database, for the plugins. What many sessions ask at
 * the same time is done together: the sync of a disk, and the way to a server, cost what hundreds
 * of records do.
 */
final class SqlJournals {

  private static final int AT_ONCE = 400;

  /** Each may be as large as a session. */
  private static final int SNAPSHOTS_AT_ONCE = 32;

  private final Transactions writer;
  private final Transactions reader;
  private final SqlBatches<List<SerializedRecord>, @Nullable Void> appends;
  private final SqlBatches<String, Long> highest;
  private final SqlBatches<SnapshotRange, Optional<SerializedSnapshot>> snapshots;

  SqlJournals(SqlBackend backend) {
    SqlJournal journal = backend.journal();
    this.writer = backend.journalWriter();
    this.reader = backend.journalReader();
    this.appends =
        new SqlBatches<>(
            AT_ONCE,
            backend::append,
            (connection, writes) -> {
              journal.append(connection, writes.stream().flatMap(Collection::stream).toList());
              return Arrays.asList(new @Nullable Void[writes.size()]);
            },
            failure ->
                failure.getCause() instanceof SQLException failed && journal.refusesRecord(failed));
    this.highest = new SqlBatches<>(AT_ONCE, reader::query, journal::highest, failure -> false);
    this.snapshots =
        new SqlBatches<>(SNAPSHOTS_AT_ONCE, reader::query, journal::snapshots, failure -> false);
  }

  /** Appends the records of one write, all of them or none. */
  CompletableFuture<@Nullable Void> append(List<SerializedRecord> write) {
    return appends.ask(write);
  }

  CompletableFuture<Long> highest(String persistenceId) {
    return highest.ask(persistenceId);
  }

  CompletableFuture<List<SerializedRecord>> read(
      String persistenceId, long from, long to, long max) {
    return reader.query(connection -> SqlRecords.replay(connection, persistenceId, from, to, max));
  }

  /** Deletes records; the newest one leaves a mark, so that its number is not given again. */
  CompletableFuture<Integer> deleteTo(String persistenceId, long to) {
    return writer.transact(connection -> SqlRecords.deleteTo(connection, persistenceId, to));
  }

  CompletableFuture<Optional<SerializedSnapshot>> snapshot(SnapshotRange range) {
    return snapshots.ask(range);
  }

  CompletableFuture<Integer> save(SerializedSnapshot snapshot) {
    return writer.transact(connection -> SqlSnapshots.save(connection, snapshot));
  }

  CompletableFuture<Integer> deleteSnapshots(SnapshotRange range) {
    return writer.transact(connection -> SqlSnapshots.delete(connection, range));
  }
}
