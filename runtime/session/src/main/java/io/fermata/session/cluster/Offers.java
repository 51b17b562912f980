package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What a host runs, in a form that hosts can compare: each version of a flow, and each agent. */
public final class Offers {
  private Offers() {}

  /** The offers of a host with some flows and agents. */
  public static ObjectNode of(Collection<Flow<?>> flows, Collection<String> agents) {
    Map<String, String> sorted = new TreeMap<>();
    flows.forEach(
        flow -> sorted.put("flow " + flow.id() + " version " + flow.version(), flow.fingerprint()));
    agents.forEach(agent -> sorted.put("agent " + agent, ""));
    ObjectNode offers = Json.object();
    sorted.forEach(offers::put);
    return offers;
  }

  /** How two hosts differ; null if they do not. */
  static @Nullable String difference(JsonNode here, JsonNode there) {
    String missing = missing(here, there);
    if (missing != null) {
      return "it lacks the " + missing;
    }
    missing = missing(there, here);
    if (missing != null) {
      return "this one lacks the " + missing;
    }
    Iterator<Map.Entry<String, JsonNode>> all = here.properties().iterator();
    while (all.hasNext()) {
      Map.Entry<String, JsonNode> each = all.next();
      if (!each.getValue().equals(there.path(each.getKey()))) {
        return "its " + each.getKey() + " has another graph; give a changed graph another version";
      }
    }
    return null;
  }

  private static @Nullable String missing(JsonNode some, JsonNode others) {
    return some.properties().stream()
        .map(Map.Entry::getKey)
        .filter(name -> !others.has(name))
        .findFirst()
        .orElse(null);
  }
}
