package io.fermata.bench.crash;

import io.fermata.persistence.Store;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
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

  private static final int KILLS_PER_LINE = 50;

  /** How long a server may take to answer at all, however busy the machine is. */
  private static final Duration TIMEOUT = Duration.ofMinutes(3);

  private static final int POLL_MILLIS = 5;

  @Option(
      names = "--stores",
      split = ",",
      defaultValue = "sqlite",
      description = "sqlite, or the address of an empty PostgreSQL database.")
  private List<String> stores = List.of();

  @Option(
      names = "--kills",
      defaultValue = "200",
      description = "How often to kill a server, on each store.")
  private int kills;

  @Option(names = "--clients", defaultValue = "8")
  private int clients;

  @Option(
      names = "--longest-life",
      defaultValue = "2500",
      description = "Longest life of a server in milliseconds; use more on a slow or busy machine.")
  private int longestLife;

  @Option(names = "--seed", description = "Seed of the moments of the kills; random by default.")
  private long seed = System.nanoTime();

  public static void main(String[] args) {
    System.exit(new CommandLine(new CrashHarness()).execute(args));
  }

  @Override
  public Integer call() throws Exception {
    for (String store : stores) {
      Path folder = Files.createTempDirectory("fermata-crash");
      System.out.println(run(folder, store, kills, clients, longestLife, seed));
    }
    return 0;
  }

  /** The result of a series of kills. */
  public record Report(
      String store, int kills, int acknowledged, int executions, int repeated, long seed) {
    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%s: %d kills, %d acknowledged answers, none lost; %d effects executed, %d of them again"
              + " after a kill, none after its result was journaled; seed %d",
          store,
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
   * @param store {@code sqlite} for a file in the folder, else as {@link Store#parse} reads it
   * @throws IllegalStateException if a promise was broken
   */
  public static Report run(
      Path folder, String store, int kills, int clients, int longestLife, long seed)
      throws Exception {
    String name = store.substring(0, (store + ":").indexOf(':'));
    String where = store.equals("sqlite") ? "sqlite:" + folder.resolve("ledger.db") : store;
    Path effects = Files.createFile(folder.resolve("effects.log"));
    Random moments = new Random(seed);
    List<Bookkeeper> bookkeepers = new ArrayList<>();
    for (int i = 0; i < clients; i++) {
      bookkeepers.add(new Bookkeeper(i % 2 == 0, effects));
    }
    ExecutorService threads = Executors.newFixedThreadPool(clients);
    try {
      int answersBefore = 0;
      boolean answered = true;
      for (int kill = 0; kill < kills; kill++) {
        int wanted = answered ? 0 : answersBefore + 1;
        workUntilKilled(where, effects, bookkeepers, threads, moments.nextInt(longestLife), wanted);
        answered = answers(bookkeepers) > answersBefore;
        answersBefore = answers(bookkeepers);
        if ((kill + 1) % KILLS_PER_LINE == 0) {
          System.out.printf("%s: %d kills, %d answers%n", name, kill + 1, answers(bookkeepers));
        }
      }
      Map<String, Integer> journaled = checkAtRest(where, effects, bookkeepers);
      Executions executions = Executions.check(effects, acknowledgedAt(bookkeepers), journaled);
      return new Report(
          name, kills, answers(bookkeepers), executions.all(), executions.repeated(), seed);
    } catch (IllegalStateException e) {
      throw new IllegalStateException(e.getMessage() + " (seed " + seed + ")", e);
    } finally {
      threads.shutdownNow();
    }
  }

  /** If a server was killed before it answered, the next one lives until it does. */
  private static void workUntilKilled(
      String store,
      Path effects,
      List<Bookkeeper> bookkeepers,
      ExecutorService threads,
      int milliseconds,
      int answersWanted)
      throws Exception {
    Killable server = Killable.start(store, effects);
    List<Future<?>> work = new ArrayList<>();
    bookkeepers.forEach(b -> work.add(threads.submit(() -> b.work(server.port()))));
    Thread.sleep(milliseconds);
    awaitAnswers(bookkeepers, work, answersWanted);
    server.kill();
    for (Future<?> done : work) {
      rethrow(done);
    }
  }

  /** Waits for this many answers, or until no client works any more. */
  private static void awaitAnswers(
      List<Bookkeeper> bookkeepers, List<Future<?>> work, int answersWanted) throws Exception {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (answers(bookkeepers) < answersWanted
        && !work.stream().allMatch(Future::isDone)
        && System.nanoTime() < end) {
      Thread.sleep(POLL_MILLIS);
    }
  }

  private static void rethrow(Future<?> done) throws InterruptedException {
    try {
      done.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("A promise was broken", e.getCause());
    }
  }

  private static Map<String, Integer> checkAtRest(
      String store, Path effects, List<Bookkeeper> bookkeepers) throws Exception {
    Killable server = Killable.start(store, effects);
    try {
      Map<String, Integer> journaled = new HashMap<>();
      for (Bookkeeper bookkeeper : bookkeepers) {
        if (bookkeeper.began()) {
          journaled.putAll(bookkeeper.checkAtRest(server.port()));
        }
      }
      return journaled;
    } finally {
      server.kill();
    }
  }

  private static Map<String, Long> acknowledgedAt(List<Bookkeeper> bookkeepers) {
    Map<String, Long> acknowledgedAt = new HashMap<>();
    bookkeepers.forEach(b -> acknowledgedAt.putAll(b.acknowledgedAt()));
    if (acknowledgedAt.isEmpty()) {
      throw new IllegalStateException("No answer was ever acknowledged; nothing was tested");
    }
    return acknowledgedAt;
  }

  private static int answers(List<Bookkeeper> bookkeepers) {
    return bookkeepers.stream().mapToInt(Bookkeeper::acknowledged).sum();
  }
}
