package io.fermata.bench.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.bench.load.HttpTarget;
import io.fermata.bench.load.Load;
import io.fermata.bench.load.Measurement;
import io.fermata.bench.load.Windows;
import io.fermata.bench.load.Workload;
import io.fermata.flow.json.Json;
import io.fermata.persistence.spi.Shard;
import io.fermata.session.key.SessionKey;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Compares one host with two that share its work, all in processes of their own, on one machine and
 * one PostgreSQL. They take turns, round after round, so that a disturbance of the machine affects
 * all of them.
 */
@Command(
    name = "cluster",
    mixinStandardHelpOptions = true,
    description = "Compares hosts of a cluster with a host alone, over HTTP.")
public final class ClusterLoad implements Callable<Integer> {
  /** The principal of clients that do not authenticate. */
  private static final String PRINCIPAL = "local";

  private static final int HEATING = 32;

  @Option(
      names = "--store",
      required = true,
      description = "The address of an empty PostgreSQL database.")
  private String store = "";

  @Option(names = "--concurrency", split = ",", defaultValue = "32")
  private List<Integer> concurrency = List.of();

  @Option(names = "--flows", split = ",", defaultValue = Workload.PURE)
  private List<String> flows = List.of();

  @Option(names = "--jvm", description = "An option of the JVMs of the hosts; may be repeated.")
  private List<String> jvm = List.of();

  @Option(
      names = "--only",
      defaultValue = "",
      description = "Of the contestants besides one host, those whose names contain this.")
  private String only = "";

  @Option(
      names = "--heat",
      defaultValue = "60",
      description = "Seconds of load before all windows, for the code of each host to be compiled.")
  private int heat;

  @Mixin private Windows windows = new Windows();

  private final PrintStream out = System.out;

  /**
   * Hosts, and which of them the clients call.
   *
   * @param choice the host that is called, by the host of the session
   */
  private record Contestant(
      String name, List<HostProcess> hosts, Map<Integer, Integer> places, IntUnaryOperator choice) {

    /** A client that begins each run in a session of its own. */
    Load.Unit client(String flow) {
      List<HttpTarget> connections = hosts.stream().map(HostProcess::connect).toList();
      return (recorder, number) -> run(connections, flow, recorder, number);
    }

    private void run(List<HttpTarget> connections, String flow, Load.Recorder recorder, long number)
        throws Exception {
      String session = UUID.randomUUID().toString();
      String entityId = new SessionKey(PRINCIPAL, flow, SessionKey.CHOSEN + session).entityId();
      int place = places.getOrDefault(Shard.of(entityId), 0);
      for (int call = 0; call < Workload.CALLS; call++) {
        HttpTarget host = connections.get(choice.applyAsInt(place));
        ObjectNode arguments = Workload.arguments(call, "", number);
        ObjectNode meta = Json.object().put("fermata/sessionId", session);
        JsonNode reply = recorder.timed(() -> host.call(flow, arguments, meta)).structured();
        if (!Workload.right(call, reply)) {
          throw new IllegalStateException("Call " + call + " returned " + reply);
        }
      }
    }

    long cpuNanos() {
      return hosts.stream().mapToLong(host -> host.cpu().toNanos()).sum();
    }
  }

  @Override
  public Integer call() throws Exception {
    List<HostProcess> started = new ArrayList<>();
    try (DatabaseUsage database = new DatabaseUsage(store)) {
      List<Contestant> contestants = contestants(started);
      out.printf(
          "%-15s %4s %-30s %10s %10s %9s %9s %9s %9s %9s %9s%n",
          "flow",
          "c",
          "",
          "runs/s",
          "calls/s",
          "p50 ms",
          "p99 ms",
          "CPU µs",
          "DB µs",
          "DB WAL B",
          "DB xacts");
      for (String flow : flows) {
        heat(contestants, flow, database);
        for (int clients : concurrency) {
          compare(contestants, flow, clients, database);
        }
      }
    } finally {
      started.forEach(HostProcess::close);
    }
    return 0;
  }

  private List<Contestant> contestants(List<HostProcess> started) throws Exception {
    HostProcess alone = HostProcess.alone(schema("alone"), jvm);
    started.add(alone);
    HostProcess single = HostProcess.ofCluster(schema("single"), jvm);
    started.add(single);
    List<HostProcess> apart = new ArrayList<>();
    List<HostProcess> pair = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      apart.add(HostProcess.alone(schema("apart" + i), jvm));
      started.add(apart.get(i));
      pair.add(HostProcess.ofCluster(schema("pair"), jvm));
      started.add(pair.get(i));
    }
    Map<Integer, Integer> places = Places.shared(schema("pair"), pair);
    Random random = new Random();
    return Stream.of(
            new Contestant("one host", List.of(alone), Map.of(), place -> 0),
            new Contestant("one host of a cluster", List.of(single), Map.of(), place -> 0),
            // What two processes cost on this machine, without a cluster.
            new Contestant("two hosts apart", apart, places, place -> place),
            new Contestant("two, the session's host", pair, places, place -> place),
            new Contestant("two, any host", pair, places, place -> random.nextInt(2)),
            new Contestant("two, the other host", pair, places, place -> 1 - place))
        .filter(each -> each.name().equals("one host") || each.name().contains(only))
        .toList();
  }

  /** The schema of one contestant. */
  private String schema(String name) {
    return DatabaseUsage.schema(store, name);
  }

  /** Each host once, for all callers. */
  private void heat(List<Contestant> contestants, String flow, DatabaseUsage database)
      throws Exception {
    Map<List<HostProcess>, Contestant> hosts = new LinkedHashMap<>();
    contestants.forEach(contestant -> hosts.put(contestant.hosts(), contestant));
    for (Contestant contestant : hosts.values()) {
      load(contestant, flow, HEATING, database).measure(Duration.ofSeconds(heat), Duration.ZERO);
    }
  }

  private static Load load(Contestant contestant, String flow, int clients, DatabaseUsage database)
      throws Exception {
    return new Load(
        clients,
        () -> contestant.client(flow),
        Workload.CALLS,
        () -> database.with(contestant.cpuNanos()));
  }

  private void compare(
      List<Contestant> contestants, String flow, int clients, DatabaseUsage database)
      throws Exception {
    Map<Contestant, Measurement> medians =
        windows.medians(contestants, contestant -> load(contestant, flow, clients, database));
    Measurement alone = medians.values().iterator().next();
    medians.forEach(
        (contestant, median) ->
            out.printf(
                Locale.ROOT,
                "%-15s %4d %-30s %s %s  %.2f of one host's runs/s, %.2f of its CPU%n",
                flow,
                clients,
                contestant.name(),
                median.row(Workload.CALLS),
                median.databaseRow(),
                median.runsPerSecond() / alone.runsPerSecond(),
                median.cpuMicros() / alone.cpuMicros()));
  }
}
