package io.fermata.bench.cluster;

import io.fermata.bench.load.ResourceUsage;
import io.fermata.persistence.postgres.PostgresAddress;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** What a PostgreSQL server uses; its CPU time only if it runs on this machine. */
final class DatabaseUsage implements AutoCloseable {
  private final Connection connection;

  DatabaseUsage(String store) throws SQLException {
    connection = connect(store);
  }

  /** The address of a schema in a database. */
  static String schema(String store, String name) {
    return store + (store.contains("?") ? "&" : "?") + "currentSchema=" + name;
  }

  static Connection connect(String store) throws SQLException {
    PostgresAddress parsed = PostgresAddress.parse(store, System.getenv());
    Properties properties = new Properties();
    if (parsed.user() != null) {
      properties.setProperty("user", parsed.user());
    }
    if (parsed.password() != null) {
      properties.setProperty("password", parsed.password());
    }
    return DriverManager.getConnection(parsed.url(), properties);
  }

  /** The usage so far, with that of the hosts. */
  ResourceUsage with(long hostNanos) {
    try (Statement statement = connection.createStatement()) {
      long cpu = 0;
      try (ResultSet row = statement.executeQuery("SELECT pid FROM pg_stat_activity")) {
        while (row.next()) {
          cpu +=
              ProcessHandle.of(row.getLong(1))
                  .flatMap(process -> process.info().totalCpuDuration())
                  .map(duration -> duration.toNanos())
                  .orElse(0L);
        }
      }
      try (ResultSet row =
          statement.executeQuery(
              "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,"
                  + " (SELECT sum(xact_commit)::bigint FROM pg_stat_database)")) {
        row.next();
        return new ResourceUsage(hostNanos, cpu, row.getLong(1), row.getLong(2));
      }
    } catch (SQLException e) {
      throw new IllegalStateException("The database could not be measured", e);
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
