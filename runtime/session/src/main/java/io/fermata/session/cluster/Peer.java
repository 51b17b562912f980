package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.ClusterHost;
import org.jspecify.annotations.Nullable;

/**
 * A host as it has registered in the store.
 *
 * @param cluster the cluster that it has joined; null until then
 * @param clock its time
 */
record Peer(String id, String address, @Nullable String cluster, long clock, Offers offers) {

  static Peer of(ClusterHost host) {
    JsonNode description = Json.parse(host.description());
    return new Peer(
        host.id(),
        host.address(),
        description.path("cluster").textValue(),
        description.path("clock").asLong(),
        Offers.read(description.path("offers")));
  }

  ClusterHost registered() {
    JsonNode description =
        Json.object().put("cluster", cluster).put("clock", clock).set("offers", Json.tree(offers));
    return new ClusterHost(id, address, Json.text(description));
  }
}
