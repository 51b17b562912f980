package io.fermata.persistence;

import com.typesafe.config.Config;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.apache.pekko.actor.setup.Setup;
import org.jspecify.annotations.Nullable;

/** A SQLite store while a host uses it. */
final class OpenSqliteStore implements OpenStore {

  private final String name;
  private final byte[] serverKey;
  private final SqliteDatabase database;
  private final SqliteChanges changes;
  private final SqliteReaders readers;
  private final FileClaim claim;
  private final Directory directory = new OpenDirectory();
  private final AtomicBoolean closed = new AtomicBoolean();

  OpenSqliteStore(
      String name,
      byte[] serverKey,
      SqliteDatabase database,
      SqliteReaders readers,
      FileClaim claim) {
    this.name = name;
    this.serverKey = serverKey;
    this.database = database;
    this.changes = new SqliteChanges(database);
    this.readers = readers;
    this.claim = claim;
  }

  @Override
  public String describe() {
    return name;
  }

  @Override
  public Config config() {
    return StoreConfig.load("sqlite-store.conf");
  }

  @Override
  public Setup setup() {
    return new SqliteSetup(database);
  }

  @Override
  public byte[] serverKey() {
    return serverKey.clone();
  }

  @Override
  public CompletionStage<List<String>> working() {
    return whileOpen(() -> readers.read(SqliteUpkeep::working));
  }

  @Override
  public CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return whileOpen(
            () ->
                database.transact(
                    connection -> SqliteAppointments.forget(connection, untilEpochMillis)))
        .thenCompose(
            forgotten ->
                readers.read(
                    connection -> SqliteAppointments.due(connection, untilEpochMillis, max)));
  }

  @Override
  public CompletionStage<Integer> sweep() {
    return whileOpen(() -> database.transact(SqliteUpkeep::sweep));
  }

  @Override
  public CompletionStage<List<StoredRecord>> read(String persistenceId, long fromSeq, int max) {
    return read(Slice.from(persistenceId, fromSeq, max));
  }

  @Override
  public CompletionStage<List<StoredRecord>> readBack(
      String persistenceId, long beforeSeq, int max) {
    return read(Slice.before(persistenceId, beforeSeq, max));
  }

  private CompletionStage<List<StoredRecord>> read(Slice slice) {
    return whileOpen(() -> readers.read(connection -> SqliteRecords.read(connection, slice)));
  }

  @Override
  public Directory directory() {
    return directory;
  }

  @Override
  public CompletionStage<@Nullable Void> forget(String persistenceId) {
    return whileOpen(
        () -> changes.make(connection -> SqliteRecords.forget(connection, persistenceId)));
  }

  private <T extends @Nullable Object> CompletionStage<T> whileOpen(
      Supplier<CompletionStage<T>> work) {
    return closed.get()
        ? CompletableFuture.failedFuture(
            new StoreException(name + " is closed; open the store again"))
        : work.get();
  }

  /** The directory while the store is open. */
  private final class OpenDirectory implements Directory {

    @Override
    public CompletionStage<@Nullable Void> put(DirectoryEntry entry) {
      return whileOpen(() -> changes.make(connection -> SqliteDirectory.put(connection, entry)));
    }

    @Override
    public CompletionStage<@Nullable Void> remove(String persistenceId) {
      return whileOpen(
          () -> changes.make(connection -> SqliteDirectory.remove(connection, persistenceId)));
    }

    @Override
    public CompletionStage<Optional<DirectoryEntry>> get(String persistenceId) {
      return whileOpen(
          () -> readers.read(connection -> SqliteDirectory.get(connection, persistenceId)));
    }

    @Override
    public CompletionStage<DirectoryPage> list(DirectoryQuery query) {
      return whileOpen(() -> readers.read(connection -> SqliteDirectory.list(connection, query)));
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      // The last connection to close brings the write-ahead log into the file, so that one writes.
      readers.close();
      database.close();
    } finally {
      claim.release();
    }
  }
}
