package io.fermata.persistence;

import com.typesafe.config.Config;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.pekko.actor.setup.Setup;

/** A SQLite store while a host uses it. */
final class OpenSqliteStore implements OpenStore {

  private final String name;
  private final byte[] serverKey;
  private final SqliteDatabase database;
  private final FileClaim claim;
  private final AtomicBoolean closed = new AtomicBoolean();

  OpenSqliteStore(String name, byte[] serverKey, SqliteDatabase database, FileClaim claim) {
    this.name = name;
    this.serverKey = serverKey;
    this.database = database;
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
    return transact(SqliteUpkeep::working);
  }

  @Override
  public CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return transact(connection -> SqliteAppointments.due(connection, untilEpochMillis, max));
  }

  @Override
  public CompletionStage<Integer> sweep() {
    return transact(SqliteUpkeep::sweep);
  }

  private <T> CompletionStage<T> transact(SqliteDatabase.Work<T> work) {
    if (closed.get()) {
      return CompletableFuture.failedFuture(
          new StoreException(name + " is closed; open the store again"));
    }
    return database.transact(work);
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      database.close();
    } finally {
      claim.release();
    }
  }
}
