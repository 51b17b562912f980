package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.ClusterHost;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A host as it has registered in the store.
 *
 * @param uid distinguishes it from an earlier process at its address
 * @param cluster the cluster that it has joined; null until then
 * @param clock its time
 */
record Peer(
    String id, String address, long uid, @Nullable String cluster, long clock, Offers offers) {

  static Peer of(ClusterHost host) {
    JsonNode description = Json.parse(host.description());
    return new Peer(
        host.id(),
        host.address(),
        description.path("uid").asLong(),
        description.path("cluster").textValue(),
        description.path("clock").asLong(),
        Offers.read(description.path("offers")));
  }

  ClusterHost registered() {
    JsonNode description =
        Json.object()
            .put("uid", uid)
            .put("cluster", cluster)
            .put("clock", clock)
            .set("offers", Json.tree(offers));
    return new ClusterHost(id, address, Json.text(description));
  }

  /**
   * Whether another cluster on the store has more hosts than this one, or as many and the lease.
   *
   * @param leased whether this one has the lease
   */
  static boolean isOrphan(String cluster, List<Peer> hosts, boolean leased) {
    Map<String, Long> sizes =
        hosts.stream()
            .map(Peer::cluster)
            .filter(Objects::nonNull)
            .collect(Collectors.groupingBy(name -> name, Collectors.counting()));
    long here = sizes.getOrDefault(cluster, 0L);
    return sizes.entrySet().stream()
        .filter(each -> !each.getKey().equals(cluster))
        .anyMatch(each -> each.getValue() > here || (each.getValue() == here && !leased));
  }

  /**
   * Whether the members are the larger part of these hosts, or that with the lowest id.
   *
   * @param members their addresses
   */
  static boolean areMost(List<Peer> hosts, Set<String> members) {
    List<Peer> here = hosts.stream().filter(host -> members.contains(host.address())).toList();
    int more = 2 * here.size() - hosts.size();
    return more > 0
        || (more == 0
            && hosts.stream().min(Comparator.comparing(Peer::id)).map(here::contains).orElse(true));
  }
}
