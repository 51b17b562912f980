package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.sql.SqlUpkeep;
import io.fermata.persistence.sql.Transactions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What hosts agree on in the tables of a schema. Shards have a connection of their own, as one that
 * is taken may wait for appends, and heartbeats must not wait.
 */
final class PostgresShared implements SharedStore {

  private static final String ACQUIRE =
      "SELECT epoch, mark FROM fermata_acquire(CAST(? AS integer), CAST(? AS text))";

  static final String MARK =
      """
      UPDATE shard SET mark = ?
      FROM unnest(CAST(? AS integer[]), CAST(? AS bigint[])) AS mine (shard, epoch)
      WHERE shard.shard = mine.shard AND shard.epoch = mine.epoch
      """;

  /** Of a request that waited too long for a lock. */
  private static final String LOCKED = "55P03";

  /** Ends the appends for which a shard waited too long: their host was stopped in the middle. */
  private static final String END_APPENDS =
      """
      SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND objsubid = 2
        AND classid = CAST(CAST('shard' AS regclass) AS oid) AND objid::bigint = ?
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND pid <> pg_backend_pid()
      """;

  private static final int ATTEMPTS = 3;

  /** Keeps claims apart from other leases. */
  private static final String CLAIM = "claim ";

  private final PostgresShards shards;
  private final Transactions taking;
  private final Transactions hosts;
  private final Transactions calls;
  private final Transactions upkeep;

  /**
   * @param taking for taking shards
   * @param hosts for hosts, leases and marks
   * @param calls for claims, of which requests decide how many there are
   * @param upkeep for reading what is unfinished
   */
  PostgresShared(
      PostgresShards shards,
      Transactions taking,
      Transactions hosts,
      Transactions calls,
      Transactions upkeep) {
    this.shards = shards;
    this.taking = taking;
    this.hosts = hosts;
    this.calls = calls;
    this.upkeep = upkeep;
  }

  @Override
  public CompletionStage<List<ClusterHost>> heartbeat(ClusterHost host) {
    return hosts.transact(connection -> PostgresHosts.heartbeat(connection, host));
  }

  @Override
  public CompletionStage<@Nullable Void> leave(String hostId) {
    return hosts
        .query(connection -> PostgresHosts.leave(connection, hostId))
        .thenAccept(left -> {});
  }

  @Override
  public CompletionStage<Optional<String>> agreement() {
    return hosts.query(PostgresHosts::agreement);
  }

  @Override
  public CompletionStage<Boolean> agree(@Nullable String before, String after) {
    return hosts.query(connection -> PostgresHosts.agree(connection, before, after));
  }

  @Override
  public CompletionStage<Long> acquire(int shard, String holder) {
    requireShard(shard);
    return acquire(shard, holder, ATTEMPTS);
  }

  private CompletableFuture<Long> acquire(int shard, String holder, int attempts) {
    return taking
        .query(connection -> taken(connection, shard, holder))
        .exceptionallyCompose(
            failure ->
                attempts > 1 && isLocked(failure)
                    ? taking
                        .query(connection -> endAppends(connection, shard))
                        .thenCompose(ended -> acquire(shard, holder, attempts - 1))
                    : CompletableFuture.failedFuture(cause(failure)));
  }

  private static Throwable cause(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  private static boolean isLocked(Throwable failure) {
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof SQLException failed) {
        return LOCKED.equals(failed.getSQLState());
      }
    }
    return false;
  }

  private long taken(Connection connection, int shard, String holder) throws SQLException {
    try (PreparedStatement acquire = connection.prepareStatement(ACQUIRE)) {
      acquire.setInt(1, shard);
      acquire.setString(2, holder);
      try (ResultSet row = acquire.executeQuery()) {
        row.next();
        shards.taken(shard, row.getLong(1));
        return row.getLong(2);
      }
    }
  }

  private static int endAppends(Connection connection, int shard) throws SQLException {
    try (PreparedStatement end = connection.prepareStatement(END_APPENDS)) {
      end.setInt(1, shard);
      end.executeQuery().close();
    } catch (SQLException failed) {
      PostgresLocks.unlessOfAnotherRole(failed);
    }
    return 0;
  }

  @Override
  public void release(int shard) {
    requireShard(shard);
    shards.released(shard);
  }

  @Override
  public Collection<Integer> held() {
    return shards.held();
  }

  @Override
  public long refusals() {
    return shards.refusals();
  }

  @Override
  public CompletionStage<List<Unfinished>> unfinished(int shard, String after, int max) {
    requireShard(shard);
    Slice.requireMax(max);
    List<Integer> one = shards.held().contains(shard) ? List.of(shard) : List.of();
    return upkeep.transact(connection -> SqlUpkeep.working(connection, shards, one, after, max));
  }

  @Override
  public CompletionStage<@Nullable Void> mark(Collection<Integer> marked, long number) {
    Set<Integer> some = Set.copyOf(marked);
    return hosts
        .query(connection -> mark(connection, shards.epochs(some), number))
        .thenAccept(rows -> {});
  }

  static int mark(Connection connection, SortedMap<Integer, Long> epochs, long number)
      throws SQLException {
    try (PreparedStatement mark = connection.prepareStatement(MARK)) {
      mark.setLong(1, number);
      PostgresShards.bindRights(mark, 2, epochs);
      return mark.executeUpdate();
    }
  }

  @Override
  public CompletionStage<Boolean> lease(String name, String owner, Duration timeToLive) {
    return hosts.query(connection -> PostgresHosts.lease(connection, name, owner, timeToLive));
  }

  @Override
  public CompletionStage<@Nullable Void> endLease(String name, String owner) {
    return hosts
        .query(connection -> PostgresHosts.endLease(connection, name, owner))
        .thenAccept(ended -> {});
  }

  @Override
  public CompletionStage<Boolean> claim(String name, String owner, Duration timeToLive) {
    return calls.query(
        connection -> PostgresHosts.lease(connection, CLAIM + name, owner, timeToLive));
  }

  @Override
  public CompletionStage<@Nullable Void> endClaim(String name, String owner) {
    return calls
        .query(connection -> PostgresHosts.endLease(connection, CLAIM + name, owner))
        .thenAccept(ended -> {});
  }

  private static void requireShard(int shard) {
    if (shard < 0 || shard >= Shard.COUNT) {
      throw new IllegalArgumentException(
          "There is no shard " + shard + "; shards are numbered from 0 to " + (Shard.COUNT - 1));
    }
  }
}
