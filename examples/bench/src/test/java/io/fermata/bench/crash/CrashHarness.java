package io.fermata.bench.crash;

import io.fermata.bench.load.HttpTarget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Starts a server again and again, lets clients work, and kills it. In every second life something
 * happens to the store first: half of those servers are killed meanwhile, the others have to serve
 * again when it is over. No server ends by itself, unless it says that it has lost its store.
 */
final class CrashHarness {
  private static final int CLIENTS = 6;
  private static final int LONGEST_LIFE_MILLIS = 2_500;
  private static final int LONGEST_FAULT_MILLIS = 3_000;
  private static final int LIVES_PER_LINE = 50;
  private static final int POLL_MILLIS = 5;

  /** What a JVM returns that was killed. */
  private static final int KILLED = 128 + 9;

  /** How long a server may take to answer at all, however busy the machine is. */
  private static final Duration TIMEOUT = Duration.ofMinutes(3);

  private final String store;
  private final List<Fault> faults;
  private final Path effects;
  private final Random moments;
  private final List<Bookkeeper> bookkeepers = new ArrayList<>();
  private final ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
  private boolean spares;
  private int survived;
  private int lost;

  private CrashHarness(String store, List<Fault> faults, Path effects, long seed) {
    this.store = store;
    this.faults = faults;
    this.effects = effects;
    this.moments = new Random(seed);
    this.spares = moments.nextBoolean();
    for (int i = 0; i < CLIENTS; i++) {
      Bookkeeper.Habit habit =
          i % 2 == 0 ? Bookkeeper.Habit.LOOKS_AND_REPEATS : Bookkeeper.Habit.LOOKS;
      bookkeepers.add(new Bookkeeper("", habit, Integer.MAX_VALUE, effects));
    }
  }

  /**
   * The result of a series of kills.
   *
   * @param survived the faults that a server outlived
   * @param lost the faults upon which a server ended, as it had lost its store
   */
  record Report(
      String store,
      int kills,
      int survived,
      int lost,
      int acknowledged,
      Executions executions,
      long seed) {
    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "%s: %d kills, %d faults outlived, %d stores lost; %d acknowledged answers, none lost;"
              + " %d effects executed, %d of them again, none after its result was journaled;"
              + " seed %d",
          store.substring(0, store.indexOf(':')),
          kills,
          survived,
          lost,
          acknowledged,
          executions.all(),
          executions.repeated(),
          seed);
    }
  }

  /**
   * Runs the harness.
   *
   * @param folder empty, for the files of the effects and the log
   * @throws IllegalStateException if a promise was broken
   */
  static Report run(Path folder, String store, List<Fault> faults, int lives) throws Exception {
    long seed = System.nanoTime();
    Path effects = Files.createFile(folder.resolve("effects.log"));
    CrashHarness harness = new CrashHarness(store, faults, effects, seed);
    try {
      Executions executions = harness.live(lives);
      return new Report(
          store, lives, harness.survived, harness.lost, harness.answers(), executions, seed);
    } catch (IllegalStateException e) {
      throw new IllegalStateException(e.getMessage() + " (seed " + seed + ")", e);
    } finally {
      harness.threads.shutdownNow();
    }
  }

  private Executions live(int lives) throws Exception {
    boolean answered = true;
    for (int life = 1; life <= lives; life++) {
      int before = answers();
      // If a server was killed before it answered, the next one lives until it does.
      workUntilKilled(life, answered ? 0 : before + 1);
      answered = answers() > before;
      if (life % LIVES_PER_LINE == 0) {
        System.out.printf("%s: %d kills, %d answers%n", store, life, answers());
      }
    }
    Map<String, Integer> journaled = checkAtRest();
    return Executions.check(effects, acknowledgedAt(), journaled, Set.of());
  }

  private void workUntilKilled(int life, int answersWanted) throws Exception {
    Killable server = Killable.start(store, effects);
    List<Future<?>> work = new ArrayList<>();
    bookkeepers.forEach(b -> work.add(threads.submit(() -> work(b, server))));
    Thread.sleep(moments.nextInt(LONGEST_LIFE_MILLIS));
    awaitAnswers(work, answersWanted);
    boolean disturbed = life % 2 == 0;
    if (disturbed) {
      disturb(faults.get((life / 2 - 1) % faults.size()), server, work);
    }
    kill(server, disturbed);
    for (Future<?> done : work) {
      rethrow(done);
    }
  }

  private static void work(Bookkeeper bookkeeper, Killable server) {
    try (HttpTarget connection = new HttpTarget(server.port())) {
      bookkeeper.work(ledgerAt(connection), () -> false);
    } catch (IOException e) {
      // The server was killed, as intended.
    }
  }

  private static Bookkeeper.Server ledgerAt(HttpTarget connection) {
    return (arguments, meta) -> connection.call("ledger", arguments, meta);
  }

  /** Every other server is killed meanwhile. */
  private void disturb(Fault fault, Killable server, List<Future<?>> work) throws Exception {
    spares = !spares;
    Fault.End end = fault.begin().now();
    try {
      Thread.sleep(moments.nextInt(LONGEST_FAULT_MILLIS));
      if (!spares) {
        server.kill();
        return;
      }
    } finally {
      end.now();
    }
    int before = answers();
    awaitAnswers(work, before + 1);
    if (answers() > before) {
      survived++;
      return;
    }
    work.stream().filter(Future::isDone).forEach(done -> rethrow(done));
    if (server.process().isAlive()) {
      throw new IllegalStateException("No call was answered again after a " + fault.name());
    }
  }

  /**
   * Kills a server. Only one that was disturbed may have ended, if it said that it lost its store.
   */
  private void kill(Killable server, boolean disturbed) throws InterruptedException {
    server.kill();
    int code = server.process().exitValue();
    if (disturbed && code == LedgerServer.LOST) {
      lost++;
    } else if (code != KILLED) {
      throw new IllegalStateException(
          "The server ended by itself with the code " + code + "; see " + Killable.log(effects));
    }
  }

  /** Waits for this many answers, or until no client works any more. */
  private void awaitAnswers(List<Future<?>> work, int wanted) throws InterruptedException {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (answers() < wanted
        && !work.stream().allMatch(Future::isDone)
        && System.nanoTime() < end) {
      Thread.sleep(POLL_MILLIS);
    }
  }

  /** Fails if a client has noticed that a promise was broken. */
  static void rethrow(Future<?> done) {
    try {
      done.get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("A promise was broken: " + e.getCause(), e.getCause());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Map<String, Integer> checkAtRest() throws Exception {
    Killable server = Killable.start(store, effects);
    try {
      Map<String, Integer> journaled = new HashMap<>();
      for (Bookkeeper bookkeeper : bookkeepers) {
        if (bookkeeper.began()) {
          try (HttpTarget connection = new HttpTarget(server.port())) {
            if (!bookkeeper.checkAtRest(ledgerAt(connection))) {
              throw new IllegalStateException("The store is away");
            }
          }
          journaled.putAll(bookkeeper.journaled());
        }
      }
      return journaled;
    } finally {
      server.kill();
    }
  }

  private Map<String, Long> acknowledgedAt() {
    Map<String, Long> acknowledgedAt = new HashMap<>();
    bookkeepers.forEach(b -> acknowledgedAt.putAll(b.acknowledgedAt()));
    if (acknowledgedAt.isEmpty()) {
      throw new IllegalStateException("No answer was ever acknowledged; nothing was tested");
    }
    return acknowledgedAt;
  }

  private int answers() {
    return bookkeepers.stream().mapToInt(Bookkeeper::acknowledged).sum();
  }
}
