package io.fermata.persistence;

import io.fermata.persistence.Note.Conclusion;
import io.fermata.persistence.Note.Line;
import io.fermata.persistence.Note.Plan;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongFunction;

/** Measures a SQLite store: {@code <directory>}. Run it by hand, it asserts nothing. */
final class StoreBenchmark {

  private static final int SECONDS = 5;

  private StoreBenchmark() {}

  public static void main(String[] arguments) throws Exception {
    Path directory = Files.createDirectories(Path.of(arguments[0]));
    try (Host host = Host.on(Store.sqlite(directory.resolve("bench.db")))) {
      report(host, "warm-up", 64, StoreBenchmark::untagged, false);
      for (int actors : new int[] {1, 64, 512}) {
        report(host, "untagged", actors, StoreBenchmark::untagged, false);
        report(host, "1 in 2 tagged", actors, StoreBenchmark::halfTagged, false);
        report(host, "runs of 10, swept", actors, StoreBenchmark::runOfTen, true);
      }
      backlog(host);
    }
  }

  private static Note untagged(long line) {
    return new Line("line " + line % 100);
  }

  private static Note halfTagged(long line) {
    return line % 2 == 0 ? new Plan("plan") : new Conclusion("done");
  }

  private static Note runOfTen(long line) {
    return line % 10 == 9 ? new Conclusion("done") : new Line("line");
  }

  private static void report(
      Host host, String name, int actors, LongFunction<Note> note, boolean sweeping)
      throws InterruptedException {
    AtomicLong events = new AtomicLong();
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    List<CompletionStage<?>> writers = new ArrayList<>();
    for (int actor = 0; actor < actors; actor++) {
      writers.add(write(host.open(name + actors + "." + actor), note, 0, end, events));
    }
    List<Long> sweeps = new ArrayList<>();
    while (sweeping && System.nanoTime() < end) {
      long begin = System.nanoTime();
      int swept = host.sweep();
      sweeps.add((System.nanoTime() - begin) / 1000);
      System.out.println(
          "  swept " + swept + " journals in " + sweeps.get(sweeps.size() - 1) + " us");
      Thread.sleep(500);
    }
    writers.forEach(Host::await);
    System.out.println(name + ", " + actors + " actors: " + events.get() / SECONDS + " events/s");
    host.sweep();
  }

  private static CompletionStage<?> write(
      Host.Desk desk, LongFunction<Note> note, long line, long end, AtomicLong events) {
    if (System.nanoTime() > end) {
      return CompletableFuture.completedFuture(line);
    }
    return desk.begin(note.apply(line))
        .thenCompose(
            written -> {
              events.incrementAndGet();
              return write(desk, note, line + 1, end, events);
            });
  }

  private static void backlog(Host host) {
    List<CompletionStage<?>> writes = new ArrayList<>();
    for (int journal = 0; journal < 2_000; journal++) {
      Host.Desk desk = host.open("backlog" + journal);
      for (int line = 0; line < 10; line++) {
        writes.add(desk.begin(runOfTen(line)));
      }
    }
    writes.forEach(Host::await);
    for (int time = 0; time < 4; time++) {
      long begin = System.nanoTime();
      int swept = host.sweep();
      System.out.println(
          "quiet sweep of " + swept + " journals: " + (System.nanoTime() - begin) / 1000 + " us");
    }
  }
}
