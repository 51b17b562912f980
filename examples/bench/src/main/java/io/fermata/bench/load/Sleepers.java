package io.fermata.bench.load;

import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures the cost of sleeping threads and of awake ones, and how long waking takes. */
@Command(
    name = "sleepers",
    mixinStandardHelpOptions = true,
    description = "Puts many threads to sleep and wakes some of them.")
public final class Sleepers implements Callable<Integer> {
  private static final int CLIENTS = 32;

  @Option(names = "--sleeping", defaultValue = "100000")
  private int sleeping;

  @Option(names = "--awake", defaultValue = "1000")
  private int awake;

  private final PrintStream out = System.out;

  @Override
  public Integer call() throws Exception {
    Path file = Files.createTempDirectory("fermata-sleepers").resolve("sleepers.db");
    Settings settings = Settings.DEFAULT.awake(awake).idle(Duration.ofSeconds(2));
    ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
    try (Fermata host =
        Fermata.host().store(Store.sqlite(file)).settings(settings).agent(Talk.plain()).start()) {
      Threads threads = host.threads();
      long empty = used();
      long startedAt = System.nanoTime();
      List<String> ids = all(clients, sleeping, () -> created(threads));
      out.printf(
          "created and answered %d threads, %.0f a second%n",
          ids.size(), ids.size() / ((System.nanoTime() - startedAt) / 1e9));
      awaitAwake(host, 0);
      long asleep = used();
      out.printf(
          "asleep: %d bytes of heap a thread (%d MiB in all)%n",
          (asleep - empty) / ids.size(), asleep >> 20);
      long[] nanos = woken(threads, ids);
      out.printf(
          "woken one by one and answered: p50 %.1f ms, p99 %.1f ms%n",
          nanos[nanos.length / 2] / 1e6, nanos[nanos.length * 99 / 100] / 1e6);
      awaitAwake(host, 0);
      long before = used();
      List<String> few = ids.subList(0, Math.min(awake, ids.size()));
      long wakingBegun = System.nanoTime();
      List<Future<?>> waking = new ArrayList<>();
      few.forEach(id -> waking.add(clients.submit(() -> Talk.turn(threads, id))));
      for (Future<?> one : waking) {
        one.get();
      }
      double took = (System.nanoTime() - wakingBegun) / 1e9;
      int now = host.awake();
      out.printf(
          "woken and answered %d at once in %.2f s; awake %d, %d bytes of heap each%n",
          few.size(), took, now, (used() - before) / Math.max(1, now));
    } finally {
      clients.shutdownNow();
    }
    return 0;
  }

  private static String created(Threads threads) throws Exception {
    String id = Talk.thread(threads, Talk.PLAIN, 0);
    Talk.turn(threads, id);
    return id;
  }

  private static <T> List<T> all(ExecutorService clients, int count, Callable<T> work)
      throws Exception {
    List<Future<T>> futures = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      futures.add(clients.submit(work));
    }
    List<T> done = new ArrayList<>();
    for (Future<T> one : futures) {
      done.add(one.get());
    }
    return done;
  }

  private static long[] woken(Threads threads, List<String> ids) throws Exception {
    Random random = new Random(1);
    long[] nanos = new long[Math.min(500, ids.size())];
    for (int i = 0; i < nanos.length; i++) {
      long startedAt = System.nanoTime();
      Talk.turn(threads, ids.get(random.nextInt(ids.size())));
      nanos[i] = System.nanoTime() - startedAt;
    }
    Arrays.sort(nanos);
    return nanos;
  }

  private static void awaitAwake(Fermata host, int atMost) throws Exception {
    for (int i = 0; i < 600; i++) {
      if (host.awake() <= atMost) {
        return;
      }
      Thread.sleep(100);
    }
    throw new IllegalStateException("The threads do not go to sleep");
  }

  private static long used() throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(100);
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
