package io.fermata.bench.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.bench.load.HttpTarget;
import io.fermata.bench.load.ResourceUsage;
import io.fermata.flow.json.Json;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Puts many runs to sleep on one host of a cluster, starts two more, and lets the runs wake up.
 * Then a host is killed, and another takes its place.
 */
@Command(
    name = "timers",
    mixinStandardHelpOptions = true,
    description = "Wakes many sleeping runs of a cluster, one of whose hosts is killed meanwhile.")
public final class Timers implements Callable<Integer> {
  private static final int CLIENTS = 32;
  private static final int LOOK_SECONDS = 10;
  private static final String SCHEMA = "timers";

  @Option(
      names = "--store",
      required = true,
      description = "The address of an empty PostgreSQL database.")
  private String store = "";

  @Option(names = "--runs", defaultValue = "1000000")
  private int runs;

  @Option(
      names = "--first",
      defaultValue = "900",
      description = "Seconds until the first run wakes up; by then all must sleep.")
  private int first;

  @Option(
      names = "--spread",
      defaultValue = "3600",
      description = "Seconds between the first wake-up and the last.")
  private int spread;

  @Option(
      names = "--watch",
      defaultValue = "180",
      description = "Seconds to watch before the kill, after it, and with a new host.")
  private int watch;

  @Option(names = "--jvm", description = "An option of the JVMs of the hosts; may be repeated.")
  private List<String> jvm = List.of();

  private final PrintStream out = System.out;
  private final List<HostProcess> hosts = new ArrayList<>();

  @Override
  public Integer call() throws Exception {
    try (DatabaseUsage database = new DatabaseUsage(store)) {
      Instant waking = Instant.now().plusSeconds(first);
      timed("a host of an empty store is ready", this::start);
      create(hosts.get(0), waking);
      timed("a second host is ready", this::start);
      timed("both hold as many shards", this::share);
      timed("a third host is ready", this::start);
      timed("all hold as many shards", this::share);
      Duration rest = Duration.between(Instant.now(), waking);
      if (rest.isNegative()) {
        throw new IllegalStateException(
            "It took longer than --first to put the runs to sleep; allow more");
      }
      out.printf("waking begins in %d s%n", rest.toSeconds());
      Thread.sleep(rest.toMillis());
      report("asleep");
      watch("three hosts", database);
      hosts.remove(0).close();
      watch("one is killed", database);
      timed("a new host is ready", this::start);
      watch("a new one joins", database);
      report("at the end");
      out.printf(
          "%d of the runs that were due until 10 s ago sleep%n",
          overdue(waking, Duration.ofSeconds(10)));
    } finally {
      hosts.forEach(HostProcess::close);
    }
    return 0;
  }

  /** A step that takes time. */
  @FunctionalInterface
  private interface Step {
    void run() throws Exception;
  }

  private void timed(String what, Step step) throws Exception {
    long begun = System.nanoTime();
    step.run();
    out.printf("%s after %.1f s%n", what, (System.nanoTime() - begun) / 1e9);
  }

  private String schema() {
    return DatabaseUsage.schema(store, SCHEMA);
  }

  private void start() throws Exception {
    hosts.add(HostProcess.ofCluster(schema(), jvm));
  }

  private void share() throws Exception {
    Places.shared(schema(), hosts);
  }

  private void create(HostProcess host, Instant waking) throws Exception {
    AtomicInteger next = new AtomicInteger();
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try {
      long begun = System.nanoTime();
      List<Future<?>> all = new ArrayList<>();
      for (int client = 0; client < CLIENTS; client++) {
        all.add(
            clients.submit(
                () -> {
                  putToSleep(host, next, waking);
                  return null;
                }));
      }
      for (Future<?> one : all) {
        one.get();
      }
      out.printf("put to sleep: %.0f runs a second%n", runs / ((System.nanoTime() - begun) / 1e9));
    } finally {
      clients.shutdownNow();
    }
  }

  private void putToSleep(HostProcess host, AtomicInteger next, Instant waking) throws Exception {
    try (HttpTarget connection = host.connect()) {
      for (int run = next.getAndIncrement(); run < runs; run = next.getAndIncrement()) {
        long until = waking.toEpochMilli() + run * 1_000L * spread / runs;
        ObjectNode arguments = Naps.arguments(until);
        JsonNode reply = connection.call(Naps.FLOW, arguments, Json.object()).structured();
        if (!reply.path("status").asText().equals("waiting")) {
          throw new IllegalStateException("A nap returned " + reply);
        }
      }
    }
  }

  /** What the hosts and the database need. */
  private void report(String when) throws Exception {
    for (HostProcess host : hosts) {
      out.printf("%s: %d MiB of heap in use%n", when, host.heap() >> 20);
    }
    out.printf("%s: %d MiB of tables and indexes%n", when, size() >> 20);
  }

  private long size() throws SQLException {
    return number(
        "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
            + " WHERE relkind = 'r' AND relnamespace = '"
            + SCHEMA
            + "'::regnamespace");
  }

  /** How many runs sleep that should have woken up some time ago. */
  private long overdue(Instant waking, Duration ago) throws SQLException {
    long millis = Instant.now().minus(ago).toEpochMilli() - waking.toEpochMilli();
    long due = Math.min(runs, millis * runs / (1_000L * spread));
    // The directory forgets a run when it ends.
    return number("SELECT count(*) FROM directory WHERE status <> 'complete'") - (runs - due);
  }

  private long number(String query) throws SQLException {
    try (Connection connection = DatabaseUsage.connect(schema());
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(query)) {
      row.next();
      return row.getLong(1);
    }
  }

  private void watch(String phase, DatabaseUsage database) throws Exception {
    long begun = System.nanoTime();
    ResourceUsage before = usage(database);
    long woken = 0;
    for (int seconds = LOOK_SECONDS; seconds <= watch; seconds += LOOK_SECONDS) {
      Thread.sleep(Math.max(0, seconds * 1_000L - (System.nanoTime() - begun) / 1_000_000));
      long[] late = late();
      woken += late.length;
      out.printf(
          "%s, %4d s: %d woken; late by p50 %d ms, p99 %d ms, max %d ms%n",
          phase, seconds, late.length, quantile(late, 50), quantile(late, 99), quantile(late, 100));
    }
    ResourceUsage used = usage(database).since(before);
    double each = Math.max(1, woken) * 1e3;
    out.printf(
        "%s: %.0f a second; each %.0f us of CPU of the hosts, %.0f us of the database%n",
        phase, woken / (double) watch, used.cpuNanos() / each, used.databaseNanos() / each);
  }

  private ResourceUsage usage(DatabaseUsage database) {
    return database.with(hosts.stream().mapToLong(host -> host.cpu().toNanos()).sum());
  }

  private long[] late() throws Exception {
    LongStream all = LongStream.empty();
    for (HostProcess host : hosts) {
      all = LongStream.concat(all, Arrays.stream(host.naps()));
    }
    return all.sorted().toArray();
  }

  private static long quantile(long[] sorted, int percent) {
    return sorted.length == 0 ? 0 : sorted[(sorted.length - 1) * percent / 100];
  }
}
