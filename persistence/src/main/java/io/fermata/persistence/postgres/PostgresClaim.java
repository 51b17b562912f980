package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The claim of a host on a schema: an advisory lock on its own connection, and the host's name in
 * the tables. The lock decides which host may start. The name fences off a host that lost the lock
 * without noticing: every other connection of a host shares a second lock and reads the name before
 * it is used. A host that starts writes its name, terminates the connections that share the second
 * lock, and waits until it has held that lock exclusively. From then on no connection of another
 * host writes to the schema.
 *
 * <p>Hosts of a cluster share the first lock and one name, so the first of them fences off a host
 * that had the schema alone; among themselves they are fenced by the epochs of their shards.
 *
 * <p>If the server was unavailable, the host takes its claim again by itself, unless another host
 * was faster. A host that has lost its claim never writes again.
 */
final class PostgresClaim {

  private static final Duration RELEASE = Duration.ofSeconds(3);
  private static final Duration FENCE = Duration.ofSeconds(10);
  private static final Duration CROWD = Duration.ofSeconds(30);
  private static final long CHECK_MILLIS = 1_000;
  private static final long AGAIN_MILLIS = 50;
  private static final long AWAY_MILLIS = 30_000;

  /** Of a server that can be reached: it is read-only, or its disk is full. */
  private static final Set<String> REFUSALS = Set.of("25006", "53100");

  private static final String STARTED = "SELECT EXTRACT(epoch FROM pg_postmaster_start_time())";

  private static final Logger LOG = LoggerFactory.getLogger(PostgresClaim.class);

  private final PostgresAddress address;
  private final boolean shared;

  /** The name of this process. */
  private final String me = PostgresOwner.ofThisProcess();

  private final String schema;
  private final PostgresLocks locks;
  private final Thread keeper = new Thread(this::keep, "fermata-postgres-claim");
  private Connection connection;
  private byte[] serverKey = new byte[0];
  private volatile Runnable whenBack = () -> {};

  /** When the server of the newest connection was started, which no two servers share. */
  private String started;

  private volatile long incarnation;

  /** Why the store is unavailable now; null while it is available. */
  private volatile @Nullable Away away;

  /** Why this host lost its claim for good; null while it holds it. */
  private volatile @Nullable String lost;

  private final CompletableFuture<StoreProblem> over = new CompletableFuture<>();

  /** Why a store is unavailable, with the SQL state. */
  private record Away(String reason, @Nullable String state) {}

  private PostgresClaim(
      PostgresAddress address, boolean shared, Connection connection, String schema)
      throws SQLException {
    this.address = address;
    this.shared = shared;
    this.connection = connection;
    this.schema = schema;
    this.locks = PostgresLocks.of(connection);
    this.started = text(connection, STARTED);
    keeper.setDaemon(true);
  }

  /** Claims the schema alone, creates missing tables, and starts to monitor the claim. */
  static PostgresClaim take(PostgresAddress address) {
    return take(address, false);
  }

  /** Like {@link #take(PostgresAddress)}, but together with other hosts that share it. */
  static PostgresClaim share(PostgresAddress address) {
    return take(address, true);
  }

  private static PostgresClaim take(PostgresAddress address, boolean shared) {
    try {
      Connection connection = PostgresSource.forClaim(address).getConnection();
      try {
        return take(address, shared, connection);
      } catch (SQLException | RuntimeException refused) {
        closeQuietly(connection);
        throw refused;
      }
    } catch (SQLException failed) {
      throw PostgresFailure.explain(address, failed);
    }
  }

  private static PostgresClaim take(PostgresAddress address, boolean shared, Connection connection)
      throws SQLException {
    PostgresRequirements.require(address, connection);
    String schema = PostgresNamespace.of(address, connection);
    PostgresClaim claim = new PostgresClaim(address, shared, connection, schema);
    try {
      claim.begin();
    } catch (SQLException failed) {
      if ("42501".equals(failed.getSQLState())) {
        throw PostgresFailure.lacksPrivileges(
            address, schema, text(connection, "SELECT quote_ident(current_user)"), failed);
      }
      throw failed;
    }
    claim.keeper.start();
    return claim;
  }

  private void begin() throws SQLException {
    requireHostLock();
    if (shared) {
      beginShared();
      return;
    }
    PostgresSchema tables = new PostgresSchema(address, connection);
    if (tables.version() > 0) {
      takeOver(tables);
    }
    serverKey = tables.prepare(me);
    PostgresShards.endEpochs(connection, PostgresOwner.described(me));
  }

  /**
   * One host after the other, so that the first prepares the tables for all. The lock of one that
   * fails ends with its connection.
   */
  private void beginShared() throws SQLException {
    awaitTablesLock();
    PostgresSchema tables = new PostgresSchema(address, connection);
    if (tables.version() > 0) {
      PostgresDurability.requireLogged(address, connection);
      if (!PostgresOwner.CLUSTER.equals(PostgresSchema.owner(connection))) {
        // With the name of this process: the next host must fence again if this one fails here.
        takeOver(tables);
      }
    }
    serverKey = tables.prepare(PostgresOwner.CLUSTER);
    locks.giveBack(connection, PostgresLocks.TABLES);
  }

  private void awaitTablesLock() throws SQLException {
    long end = System.nanoTime() + CROWD.toNanos();
    while (!locks.take(connection, PostgresLocks.TABLES)) {
      if (System.nanoTime() - end > 0) {
        throw new StoreException(
            address.shown()
                + " is being prepared by another host for too long; start this host again when"
                + " that one runs");
      }
      pause();
    }
  }

  private void takeOver(PostgresSchema tables) throws SQLException {
    PostgresDurability.requireLogged(address, connection);
    String before = PostgresSchema.owner(connection);
    tables.putOwner(me);
    fence(before);
  }

  private boolean tryHostLock(Connection on) throws SQLException {
    return shared ? locks.share(on, PostgresLocks.HOST) : locks.take(on, PostgresLocks.HOST);
  }

  private void requireHostLock() throws SQLException {
    long end = System.nanoTime() + RELEASE.toNanos();
    // The lock of a host that was just killed is released within a moment.
    while (!tryHostLock(connection)) {
      if (System.nanoTime() - end > 0) {
        throw PostgresOwner.inUse(address, holder(), shared);
      }
      pause();
    }
  }

  private @Nullable String holder() throws SQLException {
    try {
      return PostgresSchema.owner(connection);
    } catch (SQLException noTables) {
      if ("42P01".equals(noTables.getSQLState())) {
        return null;
      }
      throw noTables;
    }
  }

  /** Terminates the remaining connections of other hosts. */
  private void fence(@Nullable String before) throws SQLException {
    long end = System.nanoTime() + FENCE.toNanos();
    boolean logged = false;
    while (!locks.take(connection, PostgresLocks.CONNECTION)) {
      if (!logged) {
        LOG.warn("{} is taken over from {}", address.shown(), PostgresOwner.described(before));
        logged = true;
      }
      if (System.nanoTime() - end > 0) {
        throw new StoreException(
            address.shown()
                + " is still used by "
                + PostgresOwner.described(before)
                + ", whose connections could not be terminated; stop that host, or"
                + " terminate them with pg_terminate_backend");
      }
      locks.endOthers(connection, PostgresLocks.CONNECTION);
      pause();
    }
    locks.giveBack(connection, PostgresLocks.CONNECTION);
  }

  /** Until the claim is lost, which any connection of this host may notice first. */
  private void keep() {
    try {
      while (lost == null) {
        Thread.sleep(CHECK_MILLIS);
        try {
          check();
        } catch (RuntimeException | Error e) {
          // Thrown on, it would end the checks.
          LOG.warn("The claim on {} could not be checked; checking again", address.shown(), e);
        }
      }
      LOG.error(lost);
      setAway(null);
      over.complete(StoreProblem.TAKEN_OVER);
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void check() {
    try {
      PostgresRequirements.requireSound(address, connection);
    } catch (SQLException gone) {
      closeQuietly(connection);
      try {
        takeAgain();
        if (away != null) {
          LOG.info("{} is back", address.shown());
        } else {
          LOG.warn(
              "The connection by which this host holds {} was closed; the host holds it again, with"
                  + " new connections",
              address.shown());
        }
        setAway(null);
      } catch (SQLException stillAway) {
        if (lost == null && away == null) {
          String reason =
              PostgresFailure.explain(address, stillAway).getMessage()
                  + "; retrying every second since "
                  + Instant.now().truncatedTo(ChronoUnit.SECONDS);
          setAway(new Away(reason, stillAway.getSQLState()));
          LOG.warn(reason);
        }
      }
    }
  }

  private void takeAgain() throws SQLException {
    Connection fresh = PostgresSource.forClaim(address).within(schema).getConnection();
    try {
      PostgresRequirements.requireSound(address, fresh);
      requireMine(fresh);
      if (!tryHostLock(fresh)) {
        if (!shared) {
          // The server has not noticed yet that the previous connection is closed.
          locks.endOthers(fresh, PostgresLocks.HOST);
        }
        throw new SQLTransientConnectionException("the previous claim is being released", "08006");
      }
      // No other host can write the name now.
      requireMine(fresh);
      connection = fresh;
      whenBack.run();
    } catch (SQLException failed) {
      closeQuietly(fresh);
      throw failed;
    }
  }

  private void requireMine(Connection on) throws SQLException {
    String owner = PostgresSchema.owner(on);
    if (!(shared ? PostgresOwner.CLUSTER : me).equals(owner)) {
      lost =
          address.shown()
              + " was taken over by "
              + PostgresOwner.described(owner)
              + "; this host no longer writes; stop it";
      throw new SQLNonTransientConnectionException(lost, "08004");
    }
  }

  private synchronized void setAway(@Nullable Away why) {
    away = why;
    notifyAll();
  }

  /** Fails at once while the store is unavailable. */
  void requireHeld() throws SQLException {
    if (lost != null) {
      throw new SQLNonTransientConnectionException(lost, "08004");
    }
    Away why = away;
    if (why != null) {
      throw new SQLTransientConnectionException(
          why.reason(), REFUSALS.contains(why.state()) ? why.state() : "08001");
    }
  }

  /** Waits while the store is unavailable, so that a pool fills as soon as the server is back. */
  synchronized void awaitBack() throws SQLException {
    long end = System.nanoTime() + AWAY_MILLIS * 1_000_000;
    while (away != null && System.nanoTime() - end < 0) {
      try {
        wait(AWAY_MILLIS);
      } catch (InterruptedException closing) {
        Thread.currentThread().interrupt();
        throw new SQLTransientConnectionException("The store is closing", "08003", closing);
      }
    }
    requireHeld();
  }

  /** Marks a new connection as one of this host, or refuses it. */
  void admit(Connection fresh) throws SQLException {
    if (!locks.share(fresh, PostgresLocks.CONNECTION)) {
      throw new SQLTransientConnectionException(
          address.shown() + " is being taken over by another host", "08004");
    }
    requireMine(fresh);
    compare(text(fresh, STARTED));
  }

  /** Connections to a server that was replaced may still be open. */
  private void compare(String now) {
    synchronized (locks) {
      if (now.equals(started)) {
        return;
      }
      started = now;
      incarnation++;
    }
    whenBack.run();
  }

  /** How many restarted or other servers this host has been connected to. */
  long incarnation() {
    return incarnation;
  }

  /** Completes when this host has lost its claim for good. */
  CompletionStage<StoreProblem> over() {
    return over;
  }

  /** Sets what runs first when the server is back. */
  void whenBack(Runnable action) {
    whenBack = action;
  }

  PostgresAddress address() {
    return address;
  }

  boolean isShared() {
    return shared;
  }

  String schema() {
    return schema;
  }

  byte[] serverKey() {
    return serverKey;
  }

  void release() {
    keeper.interrupt();
    try {
      keeper.join();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    closeQuietly(connection);
  }

  private static void closeQuietly(Connection connection) {
    try {
      connection.close();
    } catch (SQLException gone) {
      LOG.debug("A connection could not be closed", gone);
    }
  }

  private static void pause() throws SQLException {
    try {
      Thread.sleep(AGAIN_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new SQLTransientConnectionException("interrupted", "08003", interrupted);
    }
  }

  /** The first value of the first row, empty for NULL. */
  static String text(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      String text = row.next() ? row.getString(1) : null;
      return text == null ? "" : text;
    }
  }
}
