package io.fermata.persistence;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigValueFactory;
import com.zaxxer.hikari.pool.HikariPool.PoolInitializationException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;
import org.jspecify.annotations.Nullable;

/**
 * A claimed PostgreSQL schema with its connections: those of the journals, one for the store's own
 * changes, so that they keep their order, and some that only read.
 */
final class PostgresBackend implements SqlBackend {

  private static final String NAME = "fermata-postgres";

  /** One more than a long search can occupy. */
  private static final int READERS = 2;

  private static final int MOST_PARALLEL = 8;

  private final PostgresAddress address;
  private final PostgresClaim claim;
  private final int connections;
  private final PostgresJournals journals;
  private final SqlPool writer;
  private final SqlPool reader;

  private PostgresBackend(
      PostgresAddress address,
      PostgresClaim claim,
      PostgresPool journals,
      PostgresPool writer,
      PostgresPool reader) {
    this.address = address;
    this.claim = claim;
    this.connections = journals.getMaximumPoolSize();
    this.journals = new PostgresJournals(journals);
    this.writer = SqlPool.over(writer);
    this.reader = SqlPool.over(reader);
  }

  static PostgresBackend connect(PostgresAddress address, PostgresClaim claim) {
    List<PostgresPool> pools = new ArrayList<>();
    try {
      pools.add(PostgresPool.writing(address, claim, NAME, address.connections()));
      pools.add(PostgresPool.writing(address, claim, NAME + "-write", 1));
      pools.add(PostgresPool.reading(address, claim, NAME + "-read", READERS));
    } catch (PoolInitializationException refused) {
      pools.forEach(PostgresPool::close);
      throw refused.getCause() instanceof SQLException failed
          ? PostgresFailure.explain(address, failed)
          : refused;
    }
    claim.whenBack(() -> pools.forEach(PostgresPool::renew));
    return new PostgresBackend(address, claim, pools.get(0), pools.get(1), pools.get(2));
  }

  @Override
  public Dialect dialect() {
    return Dialect.POSTGRES;
  }

  @Override
  public Config config() {
    return StoreConfig.load("postgres-store.conf")
        .withValue(
            "jdbc-journal.parallelism",
            ConfigValueFactory.fromAnyRef(Math.min(MOST_PARALLEL, connections)));
  }

  @Override
  public SlickDatabase journals() {
    return journals;
  }

  @Override
  public Transactions writer() {
    return writer;
  }

  @Override
  public Transactions reader() {
    return reader;
  }

  /** Rows are gone when they are deleted; when their pages are overwritten is up to the server. */
  @Override
  public CompletableFuture<@Nullable Void> scrub() {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<@Nullable Void> backup(Path file) {
    return CompletableFuture.failedFuture(PostgresStore.noBackup(address));
  }

  @Override
  public void close() {
    try {
      reader.close();
      writer.close();
      journals.database().close();
    } finally {
      claim.release();
    }
  }
}
