package io.fermata.bench.load;

import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Threads;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Measures turns of threads of agents whose models answer at once. */
@Command(
    name = "threads",
    mixinStandardHelpOptions = true,
    description = "Runs turns of threads on each store and prints the results.")
public final class ThreadLoad implements Callable<Integer> {
  @Option(names = "--threads", split = ",", defaultValue = "1,10,30")
  private List<Integer> threads = List.of();

  @Option(names = "--stores", split = ",", defaultValue = "sqlite")
  private List<String> stores = List.of();

  @Option(names = "--agents", split = ",", defaultValue = Talk.PLAIN + "," + Talk.TOOL)
  private List<String> agents = List.of();

  @Option(
      names = "--history",
      split = ",",
      defaultValue = "0,500,1000,2000,4000,8000",
      description = "Messages that one thread has before it is measured.")
  private List<Integer> history = List.of();

  @Mixin private Windows windows = new Windows();

  private final PrintStream out = System.out;

  @Override
  public Integer call() throws Exception {
    out.printf(
        "%-7s %-11s %8s %8s %10s %10s %9s %9s %9s%n",
        "store", "agent", "threads", "history", "turns/s", "", "p50 ms", "p99 ms", "CPU µs");
    Path folder = Files.createTempDirectory("fermata-threads");
    for (String store : stores) {
      Store where =
          store.equals("memory") ? Store.memory() : Store.sqlite(folder.resolve("threads.db"));
      try (Fermata host =
          Fermata.host().store(where).agent(Talk.plain()).agent(Talk.withTool()).start()) {
        for (String agent : agents) {
          for (int clients : threads) {
            print(store, agent, clients, 0, host.threads());
          }
        }
        for (int messages : history) {
          print(store, Talk.PLAIN, 1, messages, host.threads());
        }
      }
    }
    return 0;
  }

  private void print(String store, String agent, int clients, int messages, Threads host)
      throws Exception {
    Measurement median =
        windows.median(() -> new Load(clients, () -> client(agent, messages, host), 1));
    out.printf("%-7s %-11s %8d %8d %s%n", store, agent, clients, messages, median.row(1));
  }

  private static Load.Unit client(String agent, int messages, Threads host) throws Exception {
    String threadId = Talk.thread(host, agent, messages);
    return (recorder, number) -> recorder.timed(() -> Talk.turn(host, threadId));
  }
}
