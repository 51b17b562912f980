package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.json.Json;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a host runs, or what the hosts of a cluster have agreed to run.
 *
 * @param formats the messages between hosts and the journal's entries, with their versions
 */
public record Offers(
    SortedMap<String, Versions> flows, SortedSet<String> agents, SortedSet<String> formats) {

  public Offers {
    Objects.requireNonNull(flows, "flows");
    Objects.requireNonNull(agents, "agents");
    Objects.requireNonNull(formats, "formats");
  }

  /** Those of a release that writes them in another way; no host runs or continues them. */
  static final Offers UNREADABLE =
      new Offers(new TreeMap<>(), new TreeSet<>(), new TreeSet<>(List.of("unreadable")));

  /**
   * The versions of a flow.
   *
   * @param registered the fingerprints of the graphs, by their versions
   * @param migrated the earlier versions whose runs continue on one of these
   */
  public record Versions(SortedMap<Integer, String> registered, SortedSet<Integer> migrated) {
    private boolean runs(Versions others) {
      return others.registered.entrySet().stream().allMatch(registered.entrySet()::contains);
    }
  }

  /** The offers of a host with some flows and agents. */
  public static Offers of(Collection<FlowProgram<?>> programs, Collection<String> agents) {
    SortedMap<String, Versions> flows = new TreeMap<>();
    for (FlowProgram<?> program : programs) {
      Flow<?> flow = program.flow();
      Versions versions =
          flows.computeIfAbsent(flow.id(), id -> new Versions(new TreeMap<>(), new TreeSet<>()));
      versions.registered.put(flow.version(), flow.fingerprint());
      for (int from = 1; from < flow.version(); from++) {
        if (program.migratesFrom(from)) {
          versions.migrated.add(from);
        }
      }
    }
    return new Offers(flows, new TreeSet<>(agents), ClusterSerializer.formats());
  }

  /** The offers that a host has written; {@link #UNREADABLE} ones of another release. */
  static Offers read(JsonNode written) {
    try {
      return Json.value(written, Offers.class);
    } catch (IllegalArgumentException e) {
      return UNREADABLE;
    }
  }

  static Offers parse(String text) {
    return read(Json.parse(text));
  }

  String text() {
    return Json.text(Json.tree(this));
  }

  /** The newest version of each flow. */
  Map<String, Integer> newest() {
    SortedMap<String, Integer> newest = new TreeMap<>();
    flows.forEach((flow, versions) -> newest.put(flow, versions.registered.lastKey()));
    return newest;
  }

  /** For operators. */
  String summary() {
    String all =
        flows.entrySet().stream()
            .map(flow -> flow.getKey() + " " + flow.getValue().registered.keySet())
            .collect(Collectors.joining(", "));
    return "the flows %s and the agents %s".formatted(all, agents);
  }

  /** Whether a host with these offers runs every session of hosts with others, unchanged. */
  boolean runs(Offers others) {
    return agents.containsAll(others.agents)
        && others.flows.entrySet().stream()
            .allMatch(
                each -> {
                  Versions here = flows.get(each.getKey());
                  return here != null && here.runs(each.getValue());
                });
  }

  /**
   * Why a host with these offers could not run the sessions of hosts with others, even if it
   * migrated them; null if it could.
   */
  @Nullable String gap(Offers others) {
    if (!formats.equals(others.formats)) {
      return "it is of a release whose messages or journals have other formats";
    }
    for (String agent : others.agents) {
      if (!agents.contains(agent)) {
        return "it lacks the agent " + agent;
      }
    }
    for (Map.Entry<String, Versions> each : others.flows.entrySet()) {
      String gap = gap("flow " + each.getKey(), flows.get(each.getKey()), each.getValue());
      if (gap != null) {
        return gap;
      }
    }
    return null;
  }

  private static @Nullable String gap(String flow, @Nullable Versions here, Versions others) {
    if (here == null) {
      return "it lacks the " + flow;
    }
    for (Map.Entry<Integer, String> each : others.registered.entrySet()) {
      String same = here.registered.get(each.getKey());
      String version = flow + " version " + each.getKey();
      if (same == null && !here.migrated.contains(each.getKey())) {
        return "it neither has nor migrates the " + version;
      } else if (same != null && !same.equals(each.getValue())) {
        return "its %s has another graph; give a changed graph another version".formatted(version);
      }
    }
    return null;
  }
}
