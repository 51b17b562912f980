package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.ClusterHost;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlMeta;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

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

  /** Hosts that leave hold shards until their sessions have stopped. */
  static final String END_LEASE_OF_LAST =
      """
      DELETE FROM cluster_lease WHERE name = ? AND owner = ?
        AND NOT EXISTS (
          SELECT FROM cluster_host
          WHERE id <> ? AND heartbeat_at > clock_timestamp() - INTERVAL '10 seconds')
        AND NOT EXISTS (SELECT FROM shard WHERE shard >= 0 AND holder NOT IN ('', ?))
      """;

  static final String AGREEMENT = "cluster_agreement";

  static final String FIRST_AGREEMENT =
      """
      INSERT INTO fermata_meta (key, value) VALUES (?, ?)
      ON CONFLICT (key) DO NOTHING
      """;

  static final String AGREE = "UPDATE fermata_meta SET value = ? WHERE key = ? AND value = ?";

  private PostgresHosts() {}

  static List<ClusterHost> heartbeat(Connection connection, ClusterHost host) throws SQLException {
    Sql.update(connection, HEARTBEAT, host.id(), host.address(), host.description());
    Sql.update(connection, FORGET);
    Sql.update(connection, FORGET_LEASES);
    return Sql.list(
        connection,
        LATELY,
        row -> new ClusterHost(row.getString(1), row.getString(2), row.getString(3)));
  }

  static Optional<String> agreement(Connection connection) throws SQLException {
    return SqlMeta.get(connection, AGREEMENT, row -> row.getString(1));
  }
}
