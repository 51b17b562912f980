package io.fermata.bench.crash;

import io.fermata.bench.crash.Bookkeeper.Answer;
import io.fermata.postgres.PostgresServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Lets clients work with three hosts of a cluster, each call with another one, disturbs a host in
 * each round, and measures how long it takes until every client is answered again.
 */
final class ClusterHarness {
  private static final int HOSTS = 3;
  private static final int CLIENTS = 12;
  private static final int LONGEST_RUN = 200;
  private static final int LONGEST_REST_MILLIS = 100;

  /** While servers start, which a busy machine lets wait. */
  private static final int LONGEST_CALM_REST_MILLIS = 1_000;

  private static final int LONGEST_CUT_MILLIS = 6_000;
  private static final int POLL_MILLIS = 5;
  private static final int CALM_MILLIS = 2_000;
  private static final int LAST_LINES = 300;

  /** What a JVM returns that ended upon SIGTERM, and one that was killed. */
  private static final Set<Integer> SIGNALLED = Set.of(128 + 15, 128 + 9);

  /** How long a session may be without an answer at all, however busy the machine is. */
  private static final Duration TIMEOUT = Duration.ofMinutes(3);

  private final PostgresServer postgres;
  private final Path effects;
  private final Random random;
  private final long stoppedMillis;
  private final Replies replies = new Replies();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<ClusterHost> hosts = new ArrayList<>();
  private final Map<Bookkeeper, Future<?>> clients = new LinkedHashMap<>();
  private final Set<Long> suspended = new HashSet<>();
  private final Map<String, List<Double>> seconds = new TreeMap<>();
  private volatile int longestRest = LONGEST_REST_MILLIS;
  private volatile boolean over;

  private ClusterHarness(PostgresServer postgres, Path effects, long seed, long stoppedMillis) {
    this.postgres = postgres;
    this.effects = effects;
    this.random = new Random(seed);
    this.stoppedMillis = stoppedMillis;
  }

  /**
   * The result of a series of disturbances.
   *
   * @param repeated how often a call was acknowledged again
   * @param seconds the times that were measured, by what they are
   */
  record Report(
      int rounds,
      int acknowledged,
      int repeated,
      Executions executions,
      Map<String, List<Double>> seconds,
      long seed) {
    @Override
    public String toString() {
      return String.format(
              Locale.ROOT,
              "%d disturbances; %d acknowledged answers, none lost, %d of them given again, all"
                  + " alike; %d effects executed, %d of them again, none after its result was"
                  + " journaled; seed %d%n",
              rounds,
              acknowledged,
              repeated,
              executions.all(),
              executions.repeated(),
              seed)
          + seconds.entrySet().stream()
              .map(each -> line(each.getKey(), each.getValue()))
              .collect(Collectors.joining());
    }

    private static String line(String what, List<Double> seconds) {
      List<Double> sorted = seconds.stream().sorted().toList();
      return String.format(
          Locale.ROOT,
          "%-70s %4d times, median %6.2f s, longest %6.2f s%n",
          what,
          sorted.size(),
          sorted.get(sorted.size() / 2),
          sorted.get(sorted.size() - 1));
    }
  }

  /**
   * Runs the harness.
   *
   * @param what the disturbances, each of which happens if there are as many rounds
   * @param stopped the shortest time that a process is stopped
   * @throws IllegalStateException if a promise was broken
   */
  static Report run(Path folder, List<Disturbance> what, int rounds, Duration stopped, long seed)
      throws Exception {
    Path effects = Files.createFile(folder.resolve("effects.log"));
    try (PostgresServer postgres = PostgresServer.start()) {
      ClusterHarness harness = new ClusterHarness(postgres, effects, seed, stopped.toMillis());
      try {
        return harness.report(what, rounds, seed);
      } finally {
        harness.end();
      }
    } catch (IllegalStateException e) {
      List<String> log = Files.readAllLines(Killable.log(effects));
      log.subList(Math.max(0, log.size() - LAST_LINES), log.size()).forEach(System.out::println);
      throw new IllegalStateException(e.getMessage() + " (seed " + seed + ")", e);
    }
  }

  private Report report(List<Disturbance> what, int rounds, long seed) throws Exception {
    begin();
    disturb(what, rounds);
    Executions executions = check();
    return new Report(rounds, acknowledged(), replies.repeated(), executions, seconds, seed);
  }

  private void begin() throws Exception {
    String store = postgres.newDatabase();
    for (int i = 0; i < HOSTS; i++) {
      hosts.add(ClusterHost.start(i, postgres, store, effects));
    }
    awaitReady();
    for (int i = 0; i < CLIENTS; i++) {
      boolean repeats = i % 2 == 0;
      Bookkeeper client =
          new Bookkeeper(
              i % 4 < 2 ? "client-" + i : "",
              repeats ? Bookkeeper.Habit.REPEATS : Bookkeeper.Habit.LOOKS_AND_REPEATS,
              LONGEST_RUN,
              effects);
      Random own = new Random(random.nextLong());
      clients.put(client, threads.submit(() -> work(client, own)));
    }
    measure("nothing", this::calm);
  }

  /** A client takes a moment between its calls. */
  private void work(Bookkeeper client, Random own) {
    AnyHost server = new AnyHost(hosts, own, replies, threads);
    while (!rest(own)) {
      try {
        client.work(server, () -> rest(own));
      } catch (IOException e) {
        // The host has ended or does not answer; another one is asked.
      }
    }
  }

  private boolean rest(Random own) {
    sleep(own.nextInt(longestRest));
    return over;
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private void calm() {
    sleep(CALM_MILLIS);
  }

  // --- rounds ----------------------------------------------------------------------------------

  private void disturb(List<Disturbance> what, int rounds) throws Exception {
    List<Disturbance> deck = new ArrayList<>(what);
    List<Disturbance> weighted = new ArrayList<>();
    for (Disturbance each : deck) {
      weighted.addAll(Collections.nCopies(each.weight, each));
    }
    Collections.shuffle(deck, random);
    for (int round = 0; round < rounds; round++) {
      disturb(
          round,
          round < deck.size() ? deck.get(round) : weighted.get(random.nextInt(weighted.size())));
    }
  }

  private void disturb(int round, Disturbance what) throws Exception {
    ClusterHost host = hosts.get(random.nextInt(HOSTS));
    boolean oldest = hosts.stream().allMatch(other -> host.since() <= other.since());
    System.out.printf(
        Locale.ROOT, "round %d: %s of %s%s%n", round + 1, what, host, oldest ? ", the oldest" : "");
    String name = what + (oldest ? " of the oldest host" : "");
    switch (what) {
      case KILL -> kill(host, name);
      case STOP -> stop(host, name);
      case TERMINATE -> terminate(host, name);
      case NO_DATABASE -> withoutDatabase(host, name);
      case APART, ONE_WAY, PAIR -> part(what, host, name);
    }
    longestRest = LONGEST_CALM_REST_MILLIS;
    measure("return after " + what, this::awaitReady);
    longestRest = LONGEST_REST_MILLIS;
    hosts.forEach(each -> requireGoodEnds(each));
    replies.requireSame();
  }

  private void kill(ClusterHost host, String name) throws Exception {
    boolean atOnce = random.nextBoolean();
    host.hold(!atOnce);
    measure(
        name + (atOnce ? ", started again at once" : ""),
        () -> {
          running(host).kill();
          awaitAnswers(System.nanoTime());
        });
    host.hold(false);
  }

  private void stop(ClusterHost host, String name) throws Exception {
    Killable victim = running(host);
    suspended.add(victim.process().pid());
    measure(
        name,
        () -> {
          victim.signal("STOP");
          long stopped = System.nanoTime();
          awaitAnswers(stopped);
          // One that has joined a moment ago may have no session of a client.
          await(
              () -> hosts.stream().allMatch(each -> each == host || each.sees(HOSTS - 1)),
              "The others have not removed %s",
              host);
          sleep(Math.max(0, stoppedMillis - (System.nanoTime() - stopped) / 1_000_000));
        });
    measure(
        "continuation after " + Disturbance.STOP,
        () -> {
          victim.signal("CONT");
          await(() -> !victim.process().isAlive(), "%s did not end after a pause", host);
        });
  }

  private void terminate(ClusterHost host, String name) throws Exception {
    measure(
        name,
        () -> {
          Killable victim = running(host);
          victim.process().destroy();
          await(() -> !victim.process().isAlive(), "%s did not end upon SIGTERM", host);
        });
  }

  private void withoutDatabase(ClusterHost host, String name) throws Exception {
    suspended.add(running(host).process().pid());
    boolean silent = random.nextBoolean();
    measure(
        name + (silent ? ", silently" : ""),
        () -> {
          if (silent) {
            host.database().halt();
          } else {
            host.database().cut();
          }
          sleep(random.nextInt(LONGEST_CUT_MILLIS));
          host.mend();
        });
  }

  /** Ends when all sessions are answered again, and a host has ended because it was removed. */
  private void part(Disturbance what, ClusterHost host, String name) throws Exception {
    Set<Killable> before = new HashSet<>();
    for (ClusterHost each : hosts) {
      Killable server = running(each);
      before.add(server);
      suspended.add(server.process().pid());
    }
    List<ClusterHost> others = new ArrayList<>(hosts);
    others.remove(host);
    ClusterHost one = others.get(random.nextInt(others.size()));
    boolean deaf = random.nextBoolean();
    measure(
        name + (what == Disturbance.ONE_WAY ? deaf ? ", not hearing" : ", not heard" : ""),
        () -> {
          long began = System.nanoTime();
          if (what == Disturbance.PAIR) {
            host.dropMessagesOf(one);
            one.dropMessagesOf(host);
          }
          if (what == Disturbance.APART || (what == Disturbance.ONE_WAY && deaf)) {
            host.dropAllMessages();
          }
          if (what == Disturbance.APART || (what == Disturbance.ONE_WAY && !deaf)) {
            others.forEach(other -> other.dropMessagesOf(host));
          }
          awaitAnswers(began);
          await(
              () -> before.stream().anyMatch(each -> !each.process().isAlive()),
              "No host was removed in a partition of %s",
              host);
          hosts.forEach(ClusterHost::mend);
        });
  }

  private static void requireGoodEnds(ClusterHost host) {
    for (Integer code = host.ends().poll(); code != null; code = host.ends().poll()) {
      if (code != LedgerServer.LOST && !SIGNALLED.contains(code)) {
        throw new IllegalStateException(host + " ended with the code " + code);
      }
    }
  }

  // --- measuring -------------------------------------------------------------------------------

  private interface Phase {
    void run() throws Exception;
  }

  /**
   * Measures how long it takes from the beginning of a phase until every session was answered, and
   * the longest time that an answer took that was asked for until the end of the phase.
   */
  private void measure(String name, Phase phase) throws Exception {
    List<Answer> all = new ArrayList<>();
    long began = System.nanoTime();
    phase.run();
    long ended = System.nanoTime();
    Map<Bookkeeper, List<Answer>> answers = awaitAnswers(ended);
    double again = 0;
    double longest = 0;
    for (List<Answer> ofClient : answers.values()) {
      long first = Long.MAX_VALUE;
      for (Answer answer : ofClient) {
        if (answer.sent() - began >= 0) {
          first = Math.min(first, answer.answered() - began);
        }
        if (answer.asked() - ended < 0 && answer.answered() - began > 0) {
          longest = Math.max(longest, (answer.answered() - answer.asked()) / 1e9);
        }
      }
      again = Math.max(again, first / 1e9);
      all.addAll(ofClient);
    }
    record(name + ": until every session was answered", again);
    record(name + ": the longest wait of a session", longest);
    clients.keySet().forEach(client -> client.answers().removeIf(old -> old.sent() - ended < 0));
    System.out.printf(
        Locale.ROOT,
        "  %s, %.1f s: %d answers, every session after %.2f s, the longest wait %.2f s%n",
        name,
        (ended - began) / 1e9,
        all.size(),
        again,
        longest);
  }

  private void record(String name, double value) {
    seconds.computeIfAbsent(name, first -> new ArrayList<>()).add(value);
  }

  /** Waits until each client has an answer to a call that it sent after a moment. */
  private Map<Bookkeeper, List<Answer>> awaitAnswers(long moment) {
    await(
        () ->
            clients.keySet().stream()
                .allMatch(
                    client -> client.answers().stream().anyMatch(a -> a.sent() - moment >= 0)),
        "There are sessions that are not answered any more: %s",
        clients.keySet());
    Map<Bookkeeper, List<Answer>> answers = new HashMap<>();
    clients.keySet().forEach(client -> answers.put(client, List.copyOf(client.answers())));
    return answers;
  }

  private void awaitReady() {
    await(
        () -> hosts.stream().allMatch(host -> host.running() != null),
        "Not all are ready: %s",
        hosts);
  }

  private void await(BooleanSupplier condition, String otherwise, Object about) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (!condition.getAsBoolean()) {
      clients.values().stream().filter(Future::isDone).forEach(CrashHarness::rethrow);
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException(String.format(Locale.ROOT, otherwise, about));
      }
      sleep(POLL_MILLIS);
    }
  }

  private static Killable running(ClusterHost host) {
    Killable server = host.running();
    if (server == null) {
      throw new IllegalStateException(host + " has ended by itself");
    }
    return server;
  }

  // --- the end ---------------------------------------------------------------------------------

  private int acknowledged() {
    return clients.keySet().stream().mapToInt(Bookkeeper::acknowledged).sum();
  }

  private Executions check() throws Exception {
    over = true;
    clients.values().forEach(CrashHarness::rethrow);
    Map<String, Long> acknowledgedAt = new HashMap<>();
    Map<String, Integer> journaled = new HashMap<>();
    AnyHost any = new AnyHost(hosts, random, replies, threads);
    for (Bookkeeper client : clients.keySet()) {
      await(() -> !client.began() || checked(client, any), "%s cannot be checked", client);
      acknowledgedAt.putAll(client.acknowledgedAt());
      journaled.putAll(client.journaled());
    }
    replies.requireSame();
    return Executions.check(effects, acknowledgedAt, journaled, suspended);
  }

  private static boolean checked(Bookkeeper client, AnyHost any) {
    try {
      return client.checkAtRest(any);
    } catch (IOException e) {
      return false;
    }
  }

  private void end() throws InterruptedException {
    over = true;
    for (ClusterHost host : hosts) {
      host.end();
    }
    threads.shutdownNow();
    threads.awaitTermination(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
  }
}
