package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.ClusterHost;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The tables of hosts and leases, and what hosts agreed on. Their times are those of the server.
 */
final class PostgresHosts {

  static final String HEARTBEAT =
      """
      INSERT INTO cluster_host (id, address, description, registered_at, heartbeat_at)
      VALUES (?, ?, ?, clock_timestamp(), clock_timestamp())
      ON CONFLICT (id) DO UPDATE SET
        address = excluded.address,
        description = excluded.description,
        heartbeat_at = clock_timestamp()
      """;

  static final String FORGET =
      "DELETE FROM cluster_host WHERE heartbeat_at < clock_timestamp() - INTERVAL '1 day'";

  static final String FORGET_LEASES =
      "DELETE FROM cluster_lease WHERE expires_at < now() - INTERVAL '1 minute'";

  static final String LATELY =
      """
      SELECT id, address, description FROM cluster_host
      WHERE heartbeat_at > clock_timestamp() - INTERVAL '10 seconds'
      ORDER BY registered_at, id
      """;

  static final String LEAVE = "DELETE FROM cluster_host WHERE id = ?";

  static final String LEASE =
      """
      INSERT INTO cluster_lease AS held (name, owner, expires_at)
      VALUES (?, ?, clock_timestamp() + ? * INTERVAL '1 millisecond')
      ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
      WHERE held.owner = excluded.owner OR held.expires_at <= clock_timestamp()
      """;

  static final String END_LEASE = "DELETE FROM cluster_lease WHERE name = ? AND owner = ?";

  static final String AGREEMENT = "SELECT value FROM fermata_meta WHERE key = 'cluster_agreement'";

  static final String FIRST_AGREEMENT =
      """
      INSERT INTO fermata_meta (key, value) VALUES ('cluster_agreement', ?)
      ON CONFLICT (key) DO NOTHING
      """;

  static final String AGREE =
      "UPDATE fermata_meta SET value = ? WHERE key = 'cluster_agreement' AND value = ?";

  private PostgresHosts() {}

  static List<ClusterHost> heartbeat(Connection connection, ClusterHost host) throws SQLException {
    update(connection, HEARTBEAT, host.id(), host.address(), host.description());
    update(connection, FORGET);
    update(connection, FORGET_LEASES);
    try (PreparedStatement select = connection.prepareStatement(LATELY);
        ResultSet rows = select.executeQuery()) {
      List<ClusterHost> hosts = new ArrayList<>();
      while (rows.next()) {
        hosts.add(new ClusterHost(rows.getString(1), rows.getString(2), rows.getString(3)));
      }
      return hosts;
    }
  }

  static boolean leave(Connection connection, String id) throws SQLException {
    return update(connection, LEAVE, id);
  }

  static boolean lease(Connection connection, String name, String owner, Duration timeToLive)
      throws SQLException {
    return update(connection, LEASE, name, owner, timeToLive.toMillis());
  }

  static boolean endLease(Connection connection, String name, String owner) throws SQLException {
    return update(connection, END_LEASE, name, owner);
  }

  static Optional<String> agreement(Connection connection) throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(AGREEMENT);
        ResultSet row = select.executeQuery()) {
      return row.next() ? Optional.of(row.getString(1)) : Optional.empty();
    }
  }

  static boolean agree(Connection connection, @Nullable String before, String after)
      throws SQLException {
    return before == null
        ? update(connection, FIRST_AGREEMENT, after)
        : update(connection, AGREE, after, before);
  }

  /** Whether a row was changed. */
  private static boolean update(Connection connection, String sql, Object... parameters)
      throws SQLException {
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      for (int i = 0; i < parameters.length; i++) {
        update.setObject(i + 1, parameters[i]);
      }
      return update.executeUpdate() > 0;
    }
  }
}
