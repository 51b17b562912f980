package io.fermata.bench.cluster;

import io.fermata.persistence.spi.Shard;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Where the shards of a cluster are. */
final class Places {
  private static final long SETTLING_NANOS = 60_000_000_000L;

  private Places() {}

  /**
   * The number of the host that holds each shard, once all hold as many.
   *
   * @param address of the schema
   */
  static Map<Integer, Integer> shared(String address, List<HostProcess> hosts)
      throws SQLException, InterruptedException {
    List<Integer> ports = hosts.stream().map(HostProcess::clusterPort).toList();
    long end = System.nanoTime() + SETTLING_NANOS;
    while (System.nanoTime() - end < 0) {
      Map<Integer, Integer> places = now(address, ports);
      List<Integer> held =
          IntStream.range(0, hosts.size())
              .mapToObj(host -> Collections.frequency(places.values(), host))
              .toList();
      if (places.size() == Shard.COUNT && Collections.max(held) - Collections.min(held) <= 1) {
        return places;
      }
      Thread.sleep(100);
    }
    throw new IllegalStateException("The hosts did not share the shards");
  }

  private static Map<Integer, Integer> now(String address, List<Integer> ports)
      throws SQLException {
    Map<Integer, Integer> places = new HashMap<>();
    try (Connection connection = DatabaseUsage.connect(address);
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT shard, address FROM shard JOIN cluster_host ON holder = id")) {
      while (row.next()) {
        String host = row.getString(2);
        places.put(
            row.getInt(1),
            ports.indexOf(Integer.valueOf(host.substring(host.lastIndexOf(':') + 1))));
      }
    }
    places.values().removeIf(place -> place < 0);
    return places;
  }
}
