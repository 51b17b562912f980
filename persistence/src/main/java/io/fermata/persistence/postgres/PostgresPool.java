package io.fermata.persistence.postgres;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;

/**
 * The connections of a host that holds its claim; fails at once while the server is unavailable.
 */
final class PostgresPool extends HikariDataSource {

  private static final int LONGEST_WAIT_MILLIS = 3_000;
  private static final int LONGEST_CHECK_MILLIS = 2_000;

  private final PostgresClaim claim;

  private PostgresPool(HikariConfig config, PostgresClaim claim) {
    super(config);
    this.claim = claim;
  }

  /** Connections that write; each statement sees what is committed by then. */
  static PostgresPool writing(
      PostgresAddress address, PostgresClaim claim, String name, int connections) {
    return writing(PostgresSource.of(address, claim), claim, name, connections);
  }

  /** The connection for heartbeats, which writes, too. */
  static PostgresPool ofHosts(PostgresAddress address, PostgresClaim claim, String name) {
    return writing(PostgresSource.forHeartbeats(address, claim), claim, name, 1);
  }

  private static PostgresPool writing(
      PostgresSource source, PostgresClaim claim, String name, int connections) {
    HikariConfig config = config(source, name, connections);
    config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
    return new PostgresPool(config, claim);
  }

  /** Connections that only read; each transaction sees one snapshot of the database. */
  static PostgresPool reading(
      PostgresAddress address, PostgresClaim claim, String name, int connections) {
    HikariConfig config = config(PostgresSource.of(address, claim), name, connections);
    config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
    config.setReadOnly(true);
    return new PostgresPool(config, claim);
  }

  private static HikariConfig config(PostgresSource source, String name, int connections) {
    HikariConfig config = new HikariConfig();
    config.setPoolName(name);
    config.setDataSource(source);
    config.setMaximumPoolSize(connections);
    config.setConnectionTimeout(LONGEST_WAIT_MILLIS);
    config.setValidationTimeout(LONGEST_CHECK_MILLIS);
    return config;
  }

  @Override
  public Connection getConnection() throws SQLException {
    claim.requireHeld();
    return super.getConnection();
  }

  /** Evicts connections that the server may have closed. */
  void renew() {
    getHikariPoolMXBean().softEvictConnections();
  }
}
