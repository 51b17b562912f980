package io.fermata.examples.crash;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Kills a server again and again and checks that it keeps its promises. */
@Command(
    name = "crash",
    mixinStandardHelpOptions = true,
    description =
        "Kills a server with SIGKILL at random moments under load and checks every promise.")
public final class CrashHarness implements Callable<Integer> {
  private static final int LONGEST_LIFE_MILLIS = 2_500;

  @Option(names = "--kills", defaultValue = "200")
  private int kills;

  @Option(names = "--clients", defaultValue = "8")
  private int clients;

  @Option(names = "--seed", description = "of the moments; random unless given")
  private long seed = System.nanoTime();

  public static void main(String[] args) {
    System.exit(new CommandLine(new CrashHarness()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    Path folder = Files.createTempDirectory("fermata-crash");
    System.out.println(run(folder, kills, clients, seed));
    return 0;
  }

  /** What a series of kills came to. */
  public record Report(int kills, int acknowledged, int executions, int repeated, long seed) {
    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%d kills, %d acknowledged answers, all there; %d effects executed, %d of them again after"
              + " a kill, none after its result was journaled; seed %d",
          kills,
          acknowledged,
          executions,
          repeated,
          seed);
    }
  }

  /**
   * Runs the harness.
   *
   * @throws IllegalStateException if a promise was broken
   */
  public static Report run(Path folder, int kills, int clients, long seed) throws Exception {
    Path store = folder.resolve("ledger.db");
    Path effects = Files.createFile(folder.resolve("effects.log"));
    Random moments = new Random(seed);
    List<Bookkeeper> bookkeepers = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      bookkeepers.add(new Bookkeeper(i % 2 == 0, effects));
    }
    ExecutorService threads = Executors.newFixedThreadPool(clients);
    try {
      for (int kill = 0; kill < kills; kill++) {
        workUntilKilled(store, effects, bookkeepers, threads, moments.nextInt(LONGEST_LIFE_MILLIS));
      }
      checkAtRest(store, effects, bookkeepers);
      return report(effects, bookkeepers, kills, seed);
    } catch (IllegalStateException e) {
      throw new IllegalStateException(e.getMessage() + " (seed " + seed + ")", e);
    } finally {
      threads.shutdownNow();
    }
  }

  private static void workUntilKilled(
      Path store,
      Path effects,
      List<Bookkeeper> bookkeepers,
      ExecutorService threads,
      int milliseconds)
      throws Exception {
    Killable server = Killable.start(store, effects);
    List<Future<?>> work = new ArrayList<>();
    bookkeepers.forEach(b -> work.add(threads.submit(() -> b.work(server.port()))));
    Thread.sleep(milliseconds);
    server.kill();
    for (Future<?> done : work) {
      rethrow(done);
    }
  }

  private static void rethrow(Future<?> done) throws InterruptedException {
    try {
      done.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("A promise was broken", e.getCause());
    }
  }

  private static void checkAtRest(Path store, Path effects, List<Bookkeeper> bookkeepers)
      throws Exception {
    Killable server = Killable.start(store, effects);
    try {
      for (Bookkeeper bookkeeper : bookkeepers) {
        if (bookkeeper.began()) {
          bookkeeper.checkAtRest(server.port());
        }
      }
    } finally {
      server.kill();
    }
  }

  private static Report report(Path effects, List<Bookkeeper> bookkeepers, int kills, long seed)
      throws IOException {
    Map<String, Long> acknowledgedAt = new HashMap<>();
    bookkeepers.forEach(b -> acknowledgedAt.putAll(b.acknowledgedAt()));
    Map<String, Integer> executions = new HashMap<>();
    long offset = 0;
    for (String line : Files.readAllLines(effects)) {
      String key = line.substring(0, line.indexOf(' '));
      Long acknowledged = acknowledgedAt.get(key);
      if (acknowledged != null && offset >= acknowledged) {
        throw new IllegalStateException(
            "The effect " + line + " was executed after its result had been acknowledged");
      }
      executions.merge(key, 1, Integer::sum);
      offset += line.getBytes(StandardCharsets.UTF_8).length + 1;
    }
    int all = executions.values().stream().mapToInt(Integer::intValue).sum();
    if (acknowledgedAt.isEmpty()) {
      throw new IllegalStateException("No answer was ever acknowledged; nothing was tested");
    }
    int answers = bookkeepers.stream().mapToInt(Bookkeeper::acknowledged).sum();
    return new Report(kills, answers, all, all - executions.size(), seed);
  }
}
