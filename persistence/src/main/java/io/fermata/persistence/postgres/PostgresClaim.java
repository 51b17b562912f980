package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The exclusive claim of one host on one schema: an advisory lock on its own connection, and the
 * host's name in the tables. The lock decides which host may start. The name fences off a host that
 * lost the lock without noticing: every other connection of a host shares a second lock and reads
 * the name before it is used. A host that starts writes its name, terminates the connections that
 * share the second lock, and waits until it has held that lock exclusively. From then on no
 * connection of another host writes to the schema.
 *
 * <p>If the server was unavailable, the host takes its claim again by itself, unless another host
 * was faster. A host that has lost its claim never writes again.
 */
final class PostgresClaim {

  private static final long HOST = 0x4645524DL << 32;
  private static final long CONNECTION = 0x4645524EL << 32;
  private static final Duration RELEASE = Duration.ofSeconds(3);
  private static final Duration FENCE = Duration.ofSeconds(10);
  private static final long CHECK_MILLIS = 1_000;
  private static final long AGAIN_MILLIS = 50;
  private static final long AWAY_MILLIS = 30_000;
  private static final int OLDEST_SERVER = 13;

  /** Of a server that can be reached: it is read-only, or its disk is full. */
  private static final Set<String> REFUSALS = Set.of("25006", "53100");

  private static final Logger LOG = LoggerFactory.getLogger(PostgresClaim.class);

  private final PostgresAddress address;
  private final String me =
      UUID.randomUUID()
          + " process "
          + ProcessHandle.current().pid()
          + " on "
          + hostName()
          + " since "
          + Instant.now().truncatedTo(ChronoUnit.SECONDS);
  private final String schema;
  private final long schemaId;
  private final Thread keeper = new Thread(this::keep, "fermata-postgres-claim");
  private Connection connection;
  private byte[] serverKey = new byte[0];
  private volatile Runnable whenBack = () -> {};

  /** Why the store is unavailable now; null while it is available. */
  private volatile @Nullable Away away;

  /** Why this host lost its claim for good; null while it holds it. */
  private volatile @Nullable String lost;

  private final CompletableFuture<StoreProblem> over = new CompletableFuture<>();

  /** Why a store is unavailable, with the SQL state. */
  private record Away(String reason, @Nullable String state) {}

  private PostgresClaim(
      PostgresAddress address, Connection connection, String schema, long schemaId) {
    this.address = address;
    this.connection = connection;
    this.schema = schema;
    this.schemaId = schemaId;
    keeper.setDaemon(true);
  }

  /** Claims the schema, creates missing tables, and starts to monitor the claim. */
  static PostgresClaim take(PostgresAddress address) {
    try {
      Connection connection = PostgresSource.forClaim(address).getConnection();
      try {
        return take(address, connection);
      } catch (SQLException | RuntimeException refused) {
        connection.close();
        throw refused;
      }
    } catch (SQLException failed) {
      throw PostgresFailure.explain(address, failed);
    }
  }

  private static PostgresClaim take(PostgresAddress address, Connection connection)
      throws SQLException {
    requireUsable(address, connection);
    String schema = PostgresNamespace.of(address, connection);
    PostgresClaim claim =
        new PostgresClaim(
            address,
            connection,
            schema,
            Long.parseLong(
                text(connection, "SELECT quote_ident(current_schema())::regnamespace::oid")));
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

  private static void requireUsable(PostgresAddress address, Connection connection)
      throws SQLException {
    int version = connection.getMetaData().getDatabaseMajorVersion();
    if (version < OLDEST_SERVER) {
      throw new StoreException(
          address.shown()
              + " is PostgreSQL "
              + version
              + ", which is not supported; use "
              + OLDEST_SERVER
              + " or later");
    }
    String encoding = text(connection, "SHOW server_encoding");
    if (!encoding.equals("UTF8")) {
      throw new StoreException(
          address.shown()
              + " uses the encoding "
              + encoding
              + ", which cannot store every character; use a database created with the"
              + " encoding UTF8");
    }
    requireSound(address, connection);
    PostgresDurability.warn(address, connection);
  }

  /** Whether what is written now will be acknowledged and stay. */
  private static void requireSound(PostgresAddress address, Connection connection)
      throws SQLException {
    requireWritable(connection);
    PostgresDurability.require(address, connection);
  }

  private static void requireWritable(Connection connection) throws SQLException {
    if (text(connection, "SHOW transaction_read_only").equals("on")) {
      throw new SQLException("the server is read-only", "25006");
    }
  }

  private void begin() throws SQLException {
    requireHostLock();
    PostgresSchema tables = new PostgresSchema(address, connection);
    if (tables.version() > 0) {
      PostgresDurability.requireLogged(address, connection);
      String before = PostgresSchema.owner(connection);
      tables.putOwner(me);
      fence(before);
    }
    serverKey = tables.prepare(me);
  }

  private void requireHostLock() throws SQLException {
    Instant end = Instant.now().plus(RELEASE);
    // The lock of a host that was just killed is released within a moment.
    while (!tryLock(connection, HOST)) {
      if (Instant.now().isAfter(end)) {
        throw new StoreException(
            address.shown()
                + " is in use by "
                + holder()
                + "; stop that host, or name another schema for this one with the"
                + " parameter currentSchema");
      }
      pause();
    }
  }

  private String holder() throws SQLException {
    try {
      return described(PostgresSchema.owner(connection));
    } catch (SQLException noTables) {
      if ("42P01".equals(noTables.getSQLState())) {
        return described(null);
      }
      throw noTables;
    }
  }

  private static String described(@Nullable String owner) {
    return owner == null ? "a host that is starting" : owner.substring(owner.indexOf(' ') + 1);
  }

  /** Terminates the remaining connections of other hosts. */
  private void fence(@Nullable String before) throws SQLException {
    Instant end = Instant.now().plus(FENCE);
    boolean logged = false;
    while (!tryLock(connection, CONNECTION)) {
      if (!logged) {
        LOG.warn("{} is taken over from {}", address.shown(), described(before));
        logged = true;
      }
      if (Instant.now().isAfter(end)) {
        throw new StoreException(
            address.shown()
                + " is still used by "
                + described(before)
                + ", whose connections could not be terminated; stop that host, or"
                + " terminate them with pg_terminate_backend");
      }
      endOthers(connection, CONNECTION);
      pause();
    }
    text(connection, "SELECT pg_advisory_unlock(" + (CONNECTION | schemaId) + ")");
  }

  private boolean tryLock(Connection on, long kind) throws SQLException {
    return text(on, "SELECT pg_try_advisory_lock(" + (kind | schemaId) + ")").equals("t");
  }

  private void endOthers(Connection by, long kind) throws SQLException {
    String sql =
        """
        SELECT pg_terminate_backend(pid)
        FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND classid::bigint = ? AND objid::bigint = ?
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          AND pid <> pg_backend_pid()
        """;
    try (PreparedStatement end = by.prepareStatement(sql)) {
      end.setLong(1, kind >>> 32);
      end.setLong(2, schemaId);
      end.execute();
    } catch (SQLException failed) {
      // Connections of another role may not be terminated; they may close by themselves.
      if (!"42501".equals(failed.getSQLState())) {
        throw failed;
      }
    }
  }

  private void keep() {
    try {
      while (lost == null) {
        Thread.sleep(CHECK_MILLIS);
        check();
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void check() {
    try {
      requireSound(address, connection);
    } catch (SQLException gone) {
      closeQuietly(connection);
      try {
        takeAgain();
        if (away != null) {
          LOG.info("{} is back", address.shown());
        }
        setAway(null);
      } catch (SQLException stillAway) {
        if (lost != null) {
          LOG.error(lost);
          setAway(null);
          over.complete(StoreProblem.TAKEN_OVER);
        } else if (away == null) {
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
      requireSound(address, fresh);
      requireMine(fresh);
      if (!tryLock(fresh, HOST)) {
        // The server has not noticed yet that the previous connection is closed.
        endOthers(fresh, HOST);
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
    if (!me.equals(owner)) {
      lost =
          address.shown()
              + " was taken over by "
              + described(owner)
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
    while (away != null && System.nanoTime() < end) {
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
    String shared = "SELECT pg_try_advisory_lock_shared(" + (CONNECTION | schemaId) + ")";
    if (!text(fresh, shared).equals("t")) {
      throw new SQLTransientConnectionException(
          address.shown() + " is being taken over by another host", "08004");
    }
    requireMine(fresh);
  }

  /** Completes when this host has lost its claim for good. */
  CompletionStage<StoreProblem> over() {
    return over;
  }

  /** Sets what runs first when the server is back. */
  void whenBack(Runnable action) {
    whenBack = action;
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

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException unnamed) {
      return "an unnamed machine";
    }
  }
}
