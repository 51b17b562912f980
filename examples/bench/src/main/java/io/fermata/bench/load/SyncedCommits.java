package io.fermata.bench.load;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The yardstick of durability: how many one-row transactions SQLite syncs in a second. */
final class SyncedCommits {
  private SyncedCommits() {}

  /** The rate, and the median time of one commit. */
  static Measurement measure(Path file, Duration window) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement pragma = connection.createStatement()) {
      pragma.execute("pragma journal_mode=wal");
      pragma.execute("pragma synchronous=full");
      pragma.execute("create table if not exists yardstick(id integer primary key, payload blob)");
      return insert(connection, window);
    }
  }

  private static Measurement insert(Connection connection, Duration window) throws SQLException {
    List<Long> nanos = new ArrayList<>();
    byte[] payload = new byte[500];
    long end = System.nanoTime() + window.toNanos();
    long startedAt = System.nanoTime();
    try (PreparedStatement insert =
        connection.prepareStatement("insert into yardstick(payload) values (?)")) {
      while (System.nanoTime() < end) {
        long before = System.nanoTime();
        insert.setBytes(1, payload);
        insert.executeUpdate();
        nanos.add(System.nanoTime() - before);
      }
    }
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    return Measurement.of(
        nanos.stream().mapToLong(Long::longValue).toArray(), 1, seconds, ResourceUsage.ofCpu(0));
  }
}
