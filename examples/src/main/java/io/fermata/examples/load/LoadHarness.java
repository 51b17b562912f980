package io.fermata.examples.load;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures Fermata on this machine, beside what the machine can do. */
@Command(
    name = "load",
    mixinStandardHelpOptions = true,
    description = "Runs the three-call workload on each store and prints what it came to.")
public final class LoadHarness implements Callable<Integer> {
  @Option(names = "--concurrency", split = ",", defaultValue = "1,32,256")
  private List<Integer> concurrency = List.of();

  @Option(names = "--stores", split = ",", defaultValue = "memory,sqlite")
  private List<String> stores = List.of();

  @Option(names = "--flows", split = ",", defaultValue = "load_pure,load_journaled")
  private List<String> flows = List.of();

  @Option(names = "--warmup", defaultValue = "4", description = "seconds before each window")
  private int warmUp;

  @Option(names = "--seconds", defaultValue = "6", description = "length of a window")
  private int seconds;

  @Option(
      names = "--rounds",
      defaultValue = "3",
      description = "windows of which the median counts")
  private int rounds;

  private final PrintStream out = System.out;

  public static void main(String[] args) {
    System.exit(new CommandLine(new LoadHarness()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    out.printf(
        "%-10s %-15s %5s %10s %10s %9s %9s %9s%n",
        "store", "flow", "c", "runs/s", "calls/s", "p50 ms", "p99 ms", "CPU µs");
    Path folder = Files.createTempDirectory("fermata-load");
    for (String store : stores) {
      for (String flow : flows) {
        for (int clients : concurrency) {
          inProcess(folder, store, flow, clients);
        }
      }
    }
    Measurement commits =
        SyncedCommits.measure(folder.resolve("yardstick.db"), Duration.ofSeconds(seconds));
    out.printf("%-10s %-15s %5d %s%n", "yardstick", "synced commits", 1, commits.row(1));
    return 0;
  }

  private void inProcess(Path folder, String store, String flow, int clients) throws Exception {
    List<Measurement> windows = new ArrayList<>();
    Path file = folder.resolve(store + "-" + flow + "-" + clients + ".db");
    Store where = store.equals("memory") ? Store.memory() : Store.sqlite(file);
    try (Fermata host =
        Fermata.host().store(where).flow(Workload.pure()).flow(Workload.journaled()).start()) {
      for (int round = 0; round < rounds; round++) {
        windows.add(window(flow, clients, () -> new InProcess(host)));
      }
    }
    print(store, flow, clients, windows);
  }

  private Measurement window(String flow, int clients, Callable<Target> target) throws Exception {
    List<Load.Unit> units = new ArrayList<>();
    List<Target> targets = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      Target mine = target.call();
      targets.add(mine);
      units.add((recorder, number) -> run(mine, flow, recorder, number));
    }
    try {
      return new Load(units, Workload.CALLS)
          .measure(Duration.ofSeconds(warmUp), Duration.ofSeconds(seconds));
    } finally {
      for (Target mine : targets) {
        mine.close();
      }
    }
  }

  private static void run(Target target, String flow, Load.Recorder recorder, long number)
      throws Exception {
    String sessionId = "";
    for (int call = 0; call < Workload.CALLS; call++) {
      var arguments = Workload.arguments(call, sessionId, number);
      JsonNode reply = recorder.timed(() -> target.call(flow, arguments));
      if (!Workload.right(call, reply)) {
        throw new IllegalStateException("Call " + call + " came to " + reply);
      }
      sessionId = reply.path("sessionId").asText();
    }
  }

  private void print(String store, String flow, int clients, List<Measurement> windows) {
    String row = Measurement.median(windows).row(Workload.CALLS);
    out.printf("%-10s %-15s %5d %s%n", store, flow, clients, row);
  }
}
