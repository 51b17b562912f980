package io.fermata.persistence.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;

/** Opens connections to a PostgreSQL database; settings in the address take precedence. */
final class PostgresSource extends PGSimpleDataSource {

  private static final long serialVersionUID = 1L;

  /** How long a call waits for a server that does not respond. */
  private static final String CONNECT_SECONDS = "3";

  private static final String CLAIM_SECONDS = "5";
  private static final String ANSWER_SECONDS = "20";

  /**
   * The server notices within half a minute that a host's machine is down, whether it waits for
   * requests or for the receipt of what it sent. By a Unix socket these settings have no effect.
   */
  private static final String NOTICES_LOST_HOSTS =
      """
      SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
      SET tcp_user_timeout = 25000;
      """;

  /**
   * Every statement of a store finds its rows by an index made for it. Tables that fill and empty
   * within seconds have stale statistics, by which the planner would scan them whole, dead rows
   * included. What reads few pages is slower with parallel workers, of which a server has few, and
   * with compiled code: a scan that is forbidden seems so expensive that it would be compiled.
   */
  private static final String READS_BY_INDEX =
      """
      SET enable_seqscan = off; SET enable_bitmapscan = off;
      SET enable_hashjoin = off; SET enable_mergejoin = off;
      SET max_parallel_workers_per_gather = 0; SET jit = off;
      """;

  /** A host that is stopped within a transaction holds up those that take its shards. */
  private static final String LETS_SHARDS_GO = "SET idle_in_transaction_session_timeout = '3s';";

  private final transient PostgresAddress address;
  private final transient @Nullable PostgresClaim claim;

  private PostgresSource(PostgresAddress address, @Nullable PostgresClaim claim) {
    this.address = address;
    this.claim = claim;
    setUrl(address.url());
    if (address.user() != null) {
      setUser(address.user());
    }
    if (address.password() != null) {
      setPassword(address.password());
    }
    unlessSet(address, PGProperty.CONNECT_TIMEOUT, CONNECT_SECONDS);
    unlessSet(address, PGProperty.APPLICATION_NAME, "fermata");
    if (getServerNames().length > 1) {
      // A stand-by accepts connections, and refuses what they write.
      unlessSet(address, PGProperty.TARGET_SERVER_TYPE, "primary");
    }
    unlessSet(address, PGProperty.TCP_KEEP_ALIVE, "true");
    unlessSet(address, PGProperty.SOCKET_TIMEOUT, claim == null ? CLAIM_SECONDS : ANSWER_SECONDS);
    // The details of an error contain users' data.
    unlessSet(address, PGProperty.LOG_SERVER_ERROR_DETAIL, "false");
  }

  private void unlessSet(PostgresAddress address, PGProperty property, String value) {
    if (!address.sets(property)) {
      setProperty(property, value);
    }
  }

  /** Connections of a host that does not hold the claim yet. */
  static PostgresSource forClaim(PostgresAddress address) {
    return new PostgresSource(address, null);
  }

  /** Connections of the host that holds the claim. */
  static PostgresSource of(PostgresAddress address, PostgresClaim claim) {
    return new PostgresSource(address, claim).within(claim.schema());
  }

  /** Heartbeats that got no answer are sent again long before their host counts as cut off. */
  static PostgresSource forHeartbeats(PostgresAddress address, PostgresClaim claim) {
    PostgresSource source = of(address, claim);
    source.unlessSet(address, PGProperty.SOCKET_TIMEOUT, CLAIM_SECONDS);
    return source;
  }

  PostgresSource within(String schema) {
    setCurrentSchema(schema);
    return this;
  }

  @Override
  public Connection getConnection() throws SQLException {
    if (claim != null) {
      claim.awaitBack();
    }
    Connection fresh = super.getConnection();
    try {
      prepare(fresh);
      return fresh;
    } catch (SQLException | RuntimeException refused) {
      fresh.close();
      throw refused;
    }
  }

  private void prepare(Connection fresh) throws SQLException {
    try (Statement statement = fresh.createStatement()) {
      statement.execute(NOTICES_LOST_HOSTS + READS_BY_INDEX);
      if (claim != null && claim.isShared()) {
        statement.execute(LETS_SHARDS_GO);
      }
    }
    PostgresDurability.sync(address, fresh);
    if (claim != null) {
      claim.admit(fresh);
    }
  }
}
