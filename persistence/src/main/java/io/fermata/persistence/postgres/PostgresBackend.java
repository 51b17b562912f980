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
final class PostgresBackend implements SqlBackend {

  private static final String NAME = "fermata-postgres";

  /** One that takes long must not block the others. */
  private static final int READERS = 2;

  private final PostgresAddress address;
  private final PostgresClaim claim;
  private final SqlPool journals;
  private final SqlPool waking;
  private final SqlPool writer;
  private final SqlPool upkeep;
  private final SqlPool reader;
  private final SqlPool searches;

  /** In the order in which they are closed. */
  private final Map<String, SqlPool> ofCluster = new LinkedHashMap<>();

  private final PostgresJournal journal;
  private final @Nullable SharedStore shared;

  private PostgresBackend(
      PostgresAddress address,
      PostgresClaim claim,
      PostgresShards shards,
      List<PostgresPool> pools) {
    this.address = address;
    this.claim = claim;
    this.journals = SqlPool.over(pools.get(0));
    this.waking = SqlPool.over(pools.get(1));
    this.writer = SqlPool.over(pools.get(2));
    this.upkeep = SqlPool.over(pools.get(3));
    this.reader = SqlPool.over(pools.get(4));
    this.searches = SqlPool.over(pools.get(5));
    this.journal = new PostgresJournal(shards);
    if (shards.isShared()) {
      SqlPool taking = SqlPool.over(pools.get(6));
      SqlPool hosts = SqlPool.over(pools.get(7));
      ofCluster.put("shards", taking);
      ofCluster.put("hosts", hosts);
      this.shared = new PostgresShared(shards, taking, hosts, journals, upkeep);
    } else {
      this.shared = null;
    }
  }

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
    return new PostgresBackend(address, claim, shards, pools);
  }

  @Override
  public Dialect dialect() {
    return Dialect.POSTGRES;
  }

  @Override
  public SqlJournal journal() {
    return journal;
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
  public Transactions searches() {
    return searches;
  }

  @Override
  public List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes) {
    List<StorePool> pools = new ArrayList<>();
    pools.add(journals.load("append", appends));
    pools.add(waking.load("wake", wakes));
    pools.add(writer.load("write", changes));
    pools.add(upkeep.load("upkeep"));
    pools.add(reader.load("read"));
    pools.add(searches.load("search"));
    ofCluster.forEach((name, pool) -> pools.add(pool.load(name)));
    return List.copyOf(pools);
  }

  @Override
  public Optional<SharedStore> shared() {
    return Optional.ofNullable(shared);
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
      searches.close();
      reader.close();
      upkeep.close();
      waking.close();
      writer.close();
      journals.close();
      ofCluster.values().forEach(SqlPool::close);
    } finally {
      claim.release();
    }
  }
}
