package io.fermata.bench.cluster;

import io.fermata.bench.load.ResourceUsage;
import io.fermata.persistence.postgres.PostgresAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

/** What a PostgreSQL server uses; its CPU time only if it runs on this machine. */
final class DatabaseUsage implements AutoCloseable {
  private static final long TICK_NANOS = 10_000_000;

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
      Set<ProcessHandle> servers = new HashSet<>();
      try (ResultSet row = statement.executeQuery("SELECT pid FROM pg_stat_activity")) {
        while (row.next()) {
          Optional<ProcessHandle> process = ProcessHandle.of(row.getLong(1));
          process.flatMap(ProcessHandle::parent).ifPresent(servers::add);
          cpu +=
              process
                  .flatMap(each -> each.info().totalCpuDuration())
                  .map(duration -> duration.toNanos())
                  .orElse(0L);
        }
      }
      for (ProcessHandle server : servers) {
        cpu += ofEnded(server);
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

  /** The CPU time of connections that have ended, which Linux adds up for their parent. */
  private static long ofEnded(ProcessHandle server) {
    try {
      String stat = Files.readString(Path.of("/proc/" + server.pid() + "/stat"));
      List<String> fields = List.of(stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1));
      return (Long.parseLong(fields.get(13)) + Long.parseLong(fields.get(14))) * TICK_NANOS;
    } catch (IOException e) {
      return 0;
    }
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
