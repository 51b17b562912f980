package io.fermata.persistence.postgres;

import com.zaxxer.hikari.pool.HikariPool.PoolInitializationException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.Dialect;
import io.fermata.persistence.sql.SqlBackend;
import io.fermata.persistence.sql.SqlJournal;
import io.fermata.persistence.sql.SqlPool;
import io.fermata.persistence.sql.Transactions;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A claimed PostgreSQL schema with its connection pools: one appends to journals, one reads them
 * for sessions that wake, one of a single connection makes the store's own changes in order, one
 * reads what the host itself needs, and one serves lists and searches.
 */
final class PostgresBackend implements SqlBackend {

  private static final String NAME = "fermata-postgres";

  /** One long search must not block the others. */
  private static final int READERS = 2;

  private final PostgresAddress address;
  private final PostgresClaim claim;
  private final SqlPool journals;
  private final SqlPool waking;
  private final SqlPool writer;
  private final SqlPool upkeep;
  private final SqlPool reader;

  private PostgresBackend(
      PostgresAddress address,
      PostgresClaim claim,
      PostgresPool journals,
      PostgresPool waking,
      PostgresPool writer,
      PostgresPool upkeep,
      PostgresPool reader) {
    this.address = address;
    this.claim = claim;
    this.journals = SqlPool.over(journals);
    this.waking = SqlPool.over(waking);
    this.writer = SqlPool.over(writer);
    this.upkeep = SqlPool.over(upkeep);
    this.reader = SqlPool.over(reader);
  }

  static PostgresBackend connect(PostgresAddress address, PostgresClaim claim) {
    List<PostgresPool> pools = new ArrayList<>();
    try {
      pools.add(PostgresPool.writing(address, claim, NAME + "-append", address.connections()));
      pools.add(PostgresPool.reading(address, claim, NAME + "-wake", READERS));
      pools.add(PostgresPool.writing(address, claim, NAME + "-write", 1));
      pools.add(PostgresPool.reading(address, claim, NAME + "-upkeep", 1));
      pools.add(PostgresPool.reading(address, claim, NAME + "-read", READERS));
    } catch (PoolInitializationException refused) {
      pools.forEach(PostgresPool::close);
      throw refused.getCause() instanceof SQLException failed
          ? PostgresFailure.explain(address, failed)
          : refused;
    }
    claim.whenBack(() -> pools.forEach(PostgresPool::renew));
    return new PostgresBackend(
        address, claim, pools.get(0), pools.get(1), pools.get(2), pools.get(3), pools.get(4));
  }

  @Override
  public Dialect dialect() {
    return Dialect.POSTGRES;
  }

  @Override
  public SqlJournal journal() {
    return new PostgresJournal();
  }

  @Override
  public <T> CompletableFuture<T> append(Transactions.Work<T> work) {
    return journals.query(work);
  }

  @Override
  public Transactions journalWriter() {
    return journals;
  }

  @Override
  public Transactions journalReader() {
    return waking;
  }

  @Override
  public Transactions writer() {
    return writer;
  }

  @Override
  public Transactions upkeep() {
    return upkeep;
  }

  @Override
  public Transactions reader() {
    return reader;
  }

  @Override
  public List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes) {
    return List.of(
        journals.load("append", appends),
        waking.load("wake", wakes),
        writer.load("write", changes),
        upkeep.load("upkeep"),
        reader.load("read"));
  }

  @Override
  public CompletionStage<StoreProblem> lost() {
    return claim.over();
  }

  /** Rows are gone once deleted; the server decides when their pages are overwritten. */
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
      upkeep.close();
      waking.close();
      writer.close();
      journals.close();
    } finally {
      claim.release();
    }
  }
}
