package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.json.Json;
import io.fermata.session.journal.Encryption;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
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
    SortedMap<String, Versions> flows,
    SortedSet<String> agents,
    SortedSet<String> formats,
    Keys keys) {
  private static final String RELEASE =
      "; start a release that has what the other hosts run, or stop them first";

  public Offers {
    Objects.requireNonNull(flows, "flows");
    Objects.requireNonNull(agents, "agents");
    Objects.requireNonNull(formats, "formats");
    Objects.requireNonNull(keys, "keys");
  }

  /** Those of a release that writes them in another way; no host runs or continues them. */
  static final Offers UNREADABLE =
      new Offers(new TreeMap<>(), new TreeSet<>(), new TreeSet<>(List.of("unreadable")), Keys.NONE);

  /**
   * The versions of a flow.
   *
   * @param registered the fingerprints of the graphs, by their versions
   * @param migrated those of these on which runs of an earlier version continue
   */
  public record Versions(
      SortedMap<Integer, String> registered, SortedMap<Integer, SortedSet<Integer>> migrated) {
    Versions() {
      this(new TreeMap<>(), new TreeMap<>());
    }

    private void add(FlowProgram<?> program) {
      Flow<?> flow = program.flow();
      registered.put(flow.version(), flow.fingerprint());
      for (int from = 1; from < flow.version(); from++) {
        if (program.migratesFrom(from)) {
          migrated.computeIfAbsent(from, earlier -> new TreeSet<>()).add(flow.version());
        }
      }
    }

    private boolean runs(Versions others) {
      return others.registered.entrySet().stream()
          .allMatch(
              each -> registered.entrySet().contains(each) || migrates(each.getKey(), others));
    }

    /** Whether the runs of a version continue here on one that the others run, too. */
    private boolean migrates(int version, Versions others) {
      SortedSet<Integer> known =
          migrated
              .getOrDefault(version, Collections.emptySortedSet())
              .headSet(others.registered.lastKey() + 1);
      return !known.isEmpty() && others.registered.containsKey(known.last());
    }
  }

  /**
   * The ids of encryption keys.
   *
   * @param encrypts the key of new data; null if nothing is encrypted
   * @param decrypt those that the host has; null if that is not known
   */
  public record Keys(@Nullable String encrypts, @Nullable SortedSet<String> decrypt) {
    /** Those of a host that encrypts nothing and has no keys. */
    public static final Keys NONE = new Keys(null, new TreeSet<>());

    /** The keys that a host uses. */
    public static Keys of(Encryption encryption) {
      Set<String> all = encryption.decryptsWith();
      return new Keys(encryption.encryptsWith(), all == null ? null : new TreeSet<>(all));
    }

    private boolean decrypt(Keys others) {
      return others.encrypts == null || decrypt == null || decrypt.contains(others.encrypts);
    }
  }

  /** The offers of a host with some flows and agents. */
  public static Offers of(
      Collection<FlowProgram<?>> programs, Collection<String> agents, Keys keys) {
    SortedMap<String, Versions> flows = new TreeMap<>();
    for (FlowProgram<?> program : programs) {
      flows.computeIfAbsent(program.flow().id(), id -> new Versions()).add(program);
    }
    return new Offers(flows, new TreeSet<>(agents), ClusterSerializer.formats(), keys);
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

  /**
   * Whether a host with these offers runs every session of hosts with others, and leaves it such
   * that these run it, too.
   */
  boolean runs(Offers others) {
    return agents.containsAll(others.agents)
        && keys.decrypt(others.keys)
        && others.flows.entrySet().stream()
            .allMatch(
                each -> {
                  Versions here = flows.get(each.getKey());
                  return here != null && here.runs(each.getValue());
                });
  }

  /**
   * Why hosts with these offers could not run the sessions of hosts with others, even if they
   * migrated them, or the others could not read what these write, and what to do; null if they
   * could.
   */
  @Nullable String gap(Offers others) {
    if (!formats.equals(others.formats)) {
      return "it is of a release whose messages or journals have other formats" + RELEASE;
    }
    for (String agent : others.agents) {
      if (!agents.contains(agent)) {
        return "it lacks the agent " + agent + RELEASE;
      }
    }
    for (Map.Entry<String, Versions> each : others.flows.entrySet()) {
      String gap = gap("flow " + each.getKey(), flows.get(each.getKey()), each.getValue());
      if (gap != null) {
        return gap + RELEASE;
      }
    }
    return gap(keys, others.keys);
  }

  /** A key is given to all hosts before one encrypts with it. */
  private static @Nullable String gap(Keys here, Keys others) {
    if (!here.decrypt(others)) {
      return "it lacks the key %s, with which they encrypt; add it to the keys of this host"
          .formatted(others.encrypts);
    } else if (!others.decrypt(here)) {
      return "it encrypts with the key %1$s, which they lack; restart all hosts with %1$s behind their own key first, and then with %1$s as the first"
          .formatted(here.encrypts);
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
      if (same == null && !here.migrated.containsKey(each.getKey())) {
        return "it neither has nor migrates the " + version;
      } else if (same != null && !same.equals(each.getValue())) {
        return "its %s has another graph, and a changed graph needs another version"
            .formatted(version);
      }
    }
    return null;
  }
}
