package io.fermata.persistence.postgres;

import io.fermata.persistence.pekko.StoreFailures;
import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.spi.Shard;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.persistence.spi.Slice;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.Unfinished;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlBatches;
import io.fermata.persistence.sql.SqlUpkeep;
import io.fermata.persistence.sql.Transactions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What hosts agree on in the tables of a schema. Shards have a connection of their own, as one that
 * is taken or released may wait for appends, and heartbeats must not wait.
 */
final class PostgresShared implements SharedStore {

  /** How long what the store has confirmed to a host counts there. */
  static final Duration CONFIRMED = Duration.ofSeconds(2);

  private static final String ACQUIRE =
      "SELECT epoch, mark FROM fermata_acquire(CAST(? AS integer), CAST(? AS text))";

  /** Who holds a shard, and whether the host that is to take it has fallen silent. */
  static final String HOLDER =
      """
      SELECT shard.holder, EXISTS (
        SELECT FROM cluster_host
        WHERE id = ? AND heartbeat_at <= clock_timestamp() - INTERVAL '5 seconds')
      FROM shard WHERE shard.shard = ? FOR UPDATE OF shard
      """;

  /** For how long a host has been silent, in milliseconds. */
  static final String SILENCE =
      """
      SELECT CAST(EXTRACT(epoch FROM clock_timestamp() - heartbeat_at) * 1000 AS bigint)
      FROM cluster_host WHERE id = ?
      """;

  private static final String SETTLE = "UPDATE shard SET holder = ? WHERE shard = ? AND epoch = ?";

  private static final String RELEASE =
      "UPDATE shard SET holder = '' WHERE shard = ? AND epoch = ?";

  /** A shard that is just being taken keeps its mark: heartbeats must not wait for its lock. */
  static final String MARK =
      PostgresJournal.MARK.formatted(
          """
          SELECT held.shard
          FROM unnest(CAST(? AS integer[]), CAST(? AS bigint[])) AS mine (shard, epoch)
            JOIN shard AS held ON held.shard = mine.shard AND held.epoch = mine.epoch
          FOR SHARE OF held SKIP LOCKED
          """);

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
  private final SqlBatches<Integer, Boolean> confirmations;

  /** The shards that are being taken, each with the acquisition that counts. */
  private final Map<Integer, Object> wanted = new HashMap<>();

  /**
   * @param taking for taking and releasing shards
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
    this.confirmations =
        new SqlBatches<>(SqlBatches.AT_ONCE, hosts::query, this::confirmed, failure -> false);
  }

  /**
   * The epochs are looked up in a transaction of their own: a host that ends an epoch reads after
   * that when its holder was last heard of, and must not find an earlier heartbeat than the one
   * that confirms the epoch.
   */
  @Override
  public CompletionStage<List<ClusterHost>> heartbeat(ClusterHost host) {
    long nanos = System.nanoTime();
    long millis = System.currentTimeMillis();
    return hosts
        .transact(connection -> PostgresHosts.heartbeat(connection, host))
        .thenCompose(found -> look(nanos, millis).thenApply(looked -> found));
  }

  private CompletableFuture<Boolean> look(long nanos, long millis) {
    return shards.held().isEmpty()
        ? CompletableFuture.completedFuture(true)
        : hosts.query(
            connection -> {
              shards.look(connection, nanos, millis);
              return true;
            });
  }

  @Override
  public CompletionStage<@Nullable Void> leave(String hostId) {
    // Without its row nobody knows that it was heard of lately.
    shards.unconfirm();
    return done(hosts, PostgresHosts.LEAVE, hostId);
  }

  @Override
  public CompletionStage<Optional<String>> agreement() {
    return hosts.query(PostgresHosts::agreement);
  }

  @Override
  public CompletionStage<Boolean> agree(@Nullable String before, String after) {
    return before == null
        ? did(hosts, PostgresHosts.FIRST_AGREEMENT, PostgresHosts.AGREEMENT, after)
        : did(hosts, PostgresHosts.AGREE, after, PostgresHosts.AGREEMENT, before);
  }

  @Override
  public CompletionStage<Long> acquire(int shard, String holder) {
    requireShard(shard);
    Object wish = new Object();
    synchronized (wanted) {
      wanted.put(shard, wish);
    }
    return acquire(shard, holder, wish, ATTEMPTS);
  }

  private CompletableFuture<Long> acquire(int shard, String holder, Object wish, int attempts) {
    return taking
        .transact(connection -> taken(connection, shard, holder, wish))
        .thenCompose(taken -> settled(shard, holder, taken).thenApply(silent -> taken))
        .thenApply(taken -> held(shard, wish, taken))
        .exceptionallyCompose(
            failure ->
                attempts > 1 && isLocked(failure)
                    ? taking
                        .query(connection -> endAppends(connection, shard))
                        .thenCompose(ended -> acquire(shard, holder, wish, attempts - 1))
                    : CompletableFuture.failedFuture(StoreFailures.of(failure)));
  }

  /** From now on this host holds the shard, unless it has given it up meanwhile. */
  private long held(int shard, Object wish, Taken taken) {
    synchronized (wanted) {
      requireWanted(shard, wish);
      wanted.remove(shard);
      shards.taken(shard, taken.epoch());
      return taken.mark();
    }
  }

  private void requireWanted(int shard, Object wish) {
    synchronized (wanted) {
      if (wanted.get(shard) != wish) {
        throw new StoreException(
            "This host has given up shard " + shard + " before it had it; take it again if needed");
      }
    }
  }

  /**
   * Completes when nothing counts any more that the store has confirmed to the holder before, and
   * this host is the holder. Hosts that gave the shard up, have left, or fell silent have nothing
   * that counts.
   */
  private CompletableFuture<Boolean> settled(int shard, String holder, Taken taken) {
    if (taken.before().isEmpty() || taken.before().equals(holder)) {
      return CompletableFuture.completedFuture(true);
    }
    return taking
        .query(
            connection -> {
              long wait = CONFIRMED.toMillis() - Math.max(0, silence(connection, taken.before()));
              if (wait <= 0) {
                settle(connection, shard, holder, taken.epoch());
              }
              return wait;
            })
        .thenCompose(
            wait ->
                wait <= 0
                    ? CompletableFuture.completedFuture(true)
                    : new CompletableFuture<Boolean>()
                        .completeOnTimeout(true, wait, TimeUnit.MILLISECONDS)
                        .thenCompose(
                            silent ->
                                taking.query(
                                    connection ->
                                        settle(connection, shard, holder, taken.epoch()))));
  }

  /** That another host has taken the shard meanwhile is noticed as any other loss. */
  private static boolean settle(Connection connection, int shard, String holder, long epoch)
      throws SQLException {
    return Sql.update(connection, SETTLE, holder, shard, epoch) > 0;
  }

  private static long silence(Connection connection, String host) throws SQLException {
    return Sql.first(connection, SILENCE, row -> row.getLong(1), host).orElse(Long.MAX_VALUE);
  }

  private static boolean isLocked(Throwable failure) {
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof SQLException failed) {
        return LOCKED.equals(failed.getSQLState());
      }
    }
    return false;
  }

  /**
   * A shard whose epoch this host has begun.
   *
   * @param before who held it, and may not know yet that it has lost it
   */
  private record Taken(String before, long epoch, long mark) {}

  private Taken taken(Connection connection, int shard, String holder, Object wish)
      throws SQLException {
    String before = holder(connection, shard, holder);
    // The row is locked: a host that is to hold the shard instead takes it after this one.
    requireWanted(shard, wish);
    return Sql.first(
            connection,
            ACQUIRE,
            row -> new Taken(before, row.getLong(1), row.getLong(2)),
            shard,
            holder)
        .orElseThrow();
  }

  private static String holder(Connection connection, int shard, String next) throws SQLException {
    return Sql.first(connection, HOLDER, PostgresShared::holder, next, shard).orElseThrow();
  }

  private static String holder(ResultSet row) throws SQLException {
    if (row.getBoolean(2)) {
      throw new StoreException(
          "This host did not renew its place in the cluster for five seconds, so others may"
              + " have taken over; it takes no shard until it has");
    }
    return row.getString(1);
  }

  private static int endAppends(Connection connection, int shard) throws SQLException {
    try {
      return Sql.list(connection, END_APPENDS, row -> row.getBoolean(1), shard).size();
    } catch (SQLException failed) {
      PostgresLocks.unlessOfAnotherRole(failed);
      return 0;
    }
  }

  @Override
  public CompletionStage<@Nullable Void> release(int shard) {
    requireShard(shard);
    Long epoch;
    synchronized (wanted) {
      wanted.remove(shard);
      epoch = shards.released(shard);
    }
    return epoch == null
        ? CompletableFuture.completedFuture(null)
        : done(taking, RELEASE, shard, epoch);
  }

  @Override
  public boolean isConfirmed(int shard) {
    return shards.isConfirmed(shard);
  }

  @Override
  public CompletionStage<Boolean> confirm(int shard) {
    requireShard(shard);
    return shards.isHeld(shard)
        ? confirmations.ask(shard)
        : CompletableFuture.completedFuture(false);
  }

  private List<Boolean> confirmed(Connection connection, List<Integer> asked) throws SQLException {
    Map<Integer, Long> current = shards.current(connection);
    return asked.stream().map(current::containsKey).toList();
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
    return upkeep.query(connection -> SqlUpkeep.working(connection, shards, one, after, max));
  }

  @Override
  public CompletionStage<@Nullable Void> mark(Collection<Integer> marked, long number) {
    Set<Integer> some = Set.copyOf(marked);
    return hosts
        .query(connection -> mark(connection, shards.epochs(some), number))
        .thenAccept(rows -> {});
  }

  private static int mark(Connection connection, SortedMap<Integer, Long> epochs, long number)
      throws SQLException {
    return Sql.update(
        connection, MARK, number, PostgresShards.shards(epochs), PostgresShards.epochs(epochs));
  }

  @Override
  public CompletionStage<Boolean> lease(String name, String owner, Duration timeToLive) {
    return did(hosts, PostgresHosts.LEASE, name, owner, timeToLive.toMillis());
  }

  @Override
  public CompletionStage<@Nullable Void> endLease(String name, String owner) {
    return done(hosts, PostgresHosts.END_LEASE, name, owner);
  }

  @Override
  public CompletionStage<@Nullable Void> endLeaseOfLast(String name, String owner, String hostId) {
    return done(hosts, PostgresHosts.END_LEASE_OF_LAST, name, owner, hostId, hostId);
  }

  @Override
  public CompletionStage<Boolean> claim(String name, String owner, Duration timeToLive) {
    return did(calls, PostgresHosts.LEASE, CLAIM + name, owner, timeToLive.toMillis());
  }

  @Override
  public CompletionStage<@Nullable Void> endClaim(String name, String owner) {
    return done(calls, PostgresHosts.END_LEASE, CLAIM + name, owner);
  }

  /** Whether a statement changed any row. */
  private static CompletableFuture<Boolean> did(Transactions on, String sql, Object... parameters) {
    return on.query(connection -> Sql.update(connection, sql, parameters) > 0);
  }

  private static CompletableFuture<@Nullable Void> done(
      Transactions on, String sql, Object... parameters) {
    return did(on, sql, parameters).thenAccept(any -> {});
  }

  private static void requireShard(int shard) {
    if (shard < 0 || shard >= Shard.COUNT) {
      throw new IllegalArgumentException(
          "There is no shard " + shard + "; shards are numbered from 0 to " + (Shard.COUNT - 1));
    }
  }
}
