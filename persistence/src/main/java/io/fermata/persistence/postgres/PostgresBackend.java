package io.fermata.persistence.postgres;

import com.zaxxer.hikari.pool.HikariPool.PoolInitializationException;
import io.fermata.persistence.spi.SharedStore;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A claimed PostgreSQL schema with its connection pools: one appends to journals, one reads them
 * for sessions that wake, one of a single connection makes the store's own changes in order, one
 * reads what the host itself needs, one reads for users and agents, and one serves lists and
 * searches. A host that shares the schema has two more: one takes shards, and one announces the
 * host and renews leases.
 */
record PostgresBackend(
    PostgresClaim claim,
    SqlJournal journal,
    SqlPool journalWriter,
    SqlPool journalReader,
    SqlPool writer,
    SqlPool upkeep,
    SqlPool reader,
    SqlPool searches,
    Map<String, SqlPool> ofCluster,
    Optional<SharedStore> shared)
    implements SqlBackend {

  private static final String NAME = "fermata-postgres";

  /** One that takes long must not block the others. */
  private static final int READERS = 2;

  static PostgresBackend connect(
      PostgresAddress address, PostgresClaim claim, PostgresShards shards) {
    List<PostgresPool> pools = new ArrayList<>();
    try {
      pools.add(PostgresPool.writing(address, claim, NAME + "-append", address.connections()));
      pools.add(PostgresPool.reading(address, claim, NAME + "-wake", READERS));
      pools.add(PostgresPool.writing(address, claim, NAME + "-write", 1));
      pools.add(PostgresPool.reading(address, claim, NAME + "-upkeep", 1));
      pools.add(PostgresPool.reading(address, claim, NAME + "-read", READERS));
      pools.add(PostgresPool.reading(address, claim, NAME + "-search", READERS));
      if (shards.isShared()) {
        pools.add(PostgresPool.writing(address, claim, NAME + "-shards", 1));
        pools.add(PostgresPool.ofHosts(address, claim, NAME + "-hosts"));
      }
    } catch (PoolInitializationException refused) {
      pools.forEach(PostgresPool::close);
      throw refused.getCause() instanceof SQLException failed
          ? PostgresFailure.explain(address, failed)
          : refused;
    }
    claim.whenBack(() -> pools.forEach(PostgresPool::renew));
    return of(
        claim, shards, pools.stream().map(pool -> SqlPool.over(pool, claim::incarnation)).toList());
  }

  private static PostgresBackend of(
      PostgresClaim claim, PostgresShards shards, List<SqlPool> pools) {
    SqlPool journals = pools.get(0);
    SqlPool upkeep = pools.get(3);
    Map<String, SqlPool> ofCluster = new LinkedHashMap<>();
    SharedStore shared = null;
    if (shards.isShared()) {
      ofCluster.put("shards", pools.get(6));
      ofCluster.put("hosts", pools.get(7));
      shared = new PostgresShared(shards, pools.get(6), pools.get(7), journals, upkeep);
    }
    return new PostgresBackend(
        claim,
        new PostgresJournal(shards),
        journals,
        pools.get(1),
        pools.get(2),
        upkeep,
        pools.get(4),
        pools.get(5),
        ofCluster,
        Optional.ofNullable(shared));
  }

  @Override
  public Dialect dialect() {
    return Dialect.POSTGRES;
  }

  @Override
  public long incarnation() {
    return claim.incarnation();
  }

  @Override
  public <T> CompletableFuture<T> append(Transactions.Work<T> work) {
    return journalWriter.query(work);
  }

  @Override
  public List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes) {
    List<StorePool> pools = new ArrayList<>();
    pools.add(journalWriter.load("append", appends));
    pools.add(journalReader.load("wake", wakes));
    pools.add(writer.load("write", changes));
    pools.add(upkeep.load("upkeep"));
    pools.add(reader.load("read"));
    pools.add(searches.load("search"));
    ofCluster.forEach((name, pool) -> pools.add(pool.load(name)));
    return List.copyOf(pools);
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
    return CompletableFuture.failedFuture(PostgresStore.noBackup(claim.address()));
  }

  @Override
  public void close() {
    try {
      searches.close();
      reader.close();
      upkeep.close();
      journalReader.close();
      writer.close();
      journalWriter.close();
      ofCluster.values().forEach(SqlPool::close);
    } finally {
      claim.release();
    }
  }
}
