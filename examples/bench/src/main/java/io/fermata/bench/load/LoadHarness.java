package io.fermata.bench.load;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.settings.PrincipalLimits;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Measures Fermata on this machine, next to yardsticks of the machine.
 *
 * <pre>{@code
 * mvn -q -pl examples/bench -am -DskipTests -Pbench test -Dbench="load"
 * mvn -q -pl examples/bench -am -DskipTests -Pbench test -Dbench="load --yardsticks"
 * }</pre>
 */
@Command(
    name = "load",
    mixinStandardHelpOptions = true,
    description = "Runs the three-call workload on each store and prints the results.")
public final class LoadHarness implements Callable<Integer> {
  /** All callers are one principal. */
  public static final PrincipalLimits UNLIMITED =
      PrincipalLimits.DEFAULT.callsPerSecond(Double.POSITIVE_INFINITY, 1);

  @Option(names = "--concurrency", split = ",", defaultValue = "1,32,256")
  private List<Integer> concurrency = List.of();

  @Option(
      names = "--stores",
      split = ",",
      defaultValue = "memory,sqlite",
      description = "memory, sqlite, or the address of a PostgreSQL database.")
  private List<String> stores = List.of();

  @Option(names = "--flows", split = ",", defaultValue = "load_pure,load_journaled")
  private List<String> flows = List.of();

  @Option(names = "--transports", split = ",", defaultValue = "process,http")
  private List<String> transports = List.of();

  @Option(
      names = "--yardsticks",
      description =
          "Alternate in process with a bare persistent actor on the same store and with"
              + " LangGraph4j in memory, and print them side by side.")
  private boolean yardsticks;

  @Mixin private Windows windows = new Windows();

  private final PrintStream out = System.out;

  @Override
  public Integer call() throws Exception {
    Path folder = Files.createTempDirectory("fermata-load");
    if (yardsticks) {
      new Yardsticks(out, windows, folder, flows).measure(stores, concurrency);
      return 0;
    }
    out.printf(
        "%-8s %-7s %-15s %4s %10s %10s %9s %9s %9s%n",
        "over", "store", "flow", "c", "runs/s", "calls/s", "p50 ms", "p99 ms", "CPU µs");
    for (String store : stores) {
      for (int clients : concurrency) {
        onStore(folder, store, clients);
      }
    }
    Measurement commits = SyncedCommits.measure(folder.resolve("yardstick.db"), windows.length());
    print("", "sqlite", "synced commit", 1, commits, 1);
    return 0;
  }

  private void onStore(Path folder, String store, int clients) throws Exception {
    String name = store.substring(0, (store + ":").indexOf(':'));
    Path file = folder.resolve(name + "-" + clients + ".db");
    Store where = name.equals("sqlite") ? Store.sqlite(file) : Store.parse(store);
    try (Fermata host =
            Fermata.host().store(where).flow(Workload.pure()).flow(Workload.journaled()).start();
        McpServer server = McpServer.serving(host).port(0).perPrincipal(UNLIMITED).start();
        McpServer noop =
            McpServer.serving(new NoopHost(host.handles()))
                .port(0)
                .perPrincipal(UNLIMITED)
                .start()) {
      for (String transport : transports) {
        Callable<Target> target =
            transport.equals("http")
                ? () -> new HttpTarget(server.port())
                : () -> new InProcess(host);
        for (String flow : flows) {
          print(transport, name, flow, clients, measured(flow, clients, target), Workload.CALLS);
        }
      }
      if (transports.contains("http")) {
        Callable<Target> target = () -> new HttpTarget(noop.port());
        print("http", "", NoopHost.TOOL, clients, measured(NoopHost.TOOL, clients, target), 1);
      }
    }
  }

  private Measurement measured(String flow, int clients, Callable<Target> target) throws Exception {
    boolean noop = flow.equals(NoopHost.TOOL);
    List<Target> targets = new ArrayList<>();
    try {
      return windows.median(
          () ->
              new Load(
                  clients,
                  () -> {
                    Target mine = target.call();
                    targets.add(mine);
                    return noop
                        ? (recorder, number) -> noop(mine, recorder)
                        : (recorder, number) -> run(mine, flow, recorder, number);
                  },
                  noop ? 1 : Workload.CALLS));
    } finally {
      for (Target mine : targets) {
        mine.close();
      }
    }
  }

  static void run(Target target, String flow, Load.Recorder recorder, long number)
      throws Exception {
    String sessionId = "";
    for (int call = 0; call < Workload.CALLS; call++) {
      int next = call;
      String session = sessionId;
      sessionId = recorder.timed(() -> call(target, flow, next, session, number));
    }
  }

  /** Makes a call of a run, checks the reply and returns the session's id. */
  static String call(Target target, String flow, int call, String sessionId, long run)
      throws Exception {
    JsonNode reply =
        target.call(flow, Workload.arguments(call, sessionId, run), Json.object()).structured();
    if (!Workload.right(call, reply)) {
      throw new IllegalStateException("Call " + call + " returned " + reply);
    }
    return reply.path("sessionId").asText();
  }

  private static void noop(Target target, Load.Recorder recorder) throws Exception {
    recorder.timed(() -> target.call(NoopHost.TOOL, Json.object(), Json.object()));
  }

  private void print(
      String transport,
      String store,
      String flow,
      int clients,
      Measurement median,
      int callsPerRun) {
    String row = median.row(callsPerRun);
    out.printf("%-8s %-7s %-15s %4d %s%n", transport, store, flow, clients, row);
  }
}
