package io.fermata.session.journal;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.session.Fermata;
import io.fermata.session.TestFlows;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Measures how long a session takes to come back whose journal has 1,000 records, and more events.
 */
final class RecoveryBenchmark {
  private static final int RECORDS = 1_000;
  private static final int TIMES = 15;

  private RecoveryBenchmark() {}

  public static void main(String[] arguments) throws Exception {
    for (int every : new int[] {Integer.MAX_VALUE, Settings.DEFAULT.snapshotEvery()}) {
      Path file = Files.createTempDirectory("recovery").resolve("recovery.db");
      Settings settings = Settings.DEFAULT.snapshotEvery(every);
      write(file, settings);
      List<Double> first = new ArrayList<>();
      List<Double> again = new ArrayList<>();
      for (int i = 0; i < TIMES; i++) {
        try (Fermata host = host(file, settings)) {
          millis(host, "other");
          first.add(millis(host, "long"));
          again.add(millis(host, "long"));
        }
      }
      System.out.printf(
          "%s: recovered in %.1f ms, asked again %.1f ms (medians of %d)%n",
          every == Integer.MAX_VALUE ? "without snapshots" : "a snapshot every " + every,
          median(first),
          median(again),
          TIMES);
    }
  }

  private static Fermata host(Path file, Settings settings) {
    return Fermata.host()
        .store(Store.sqlite(file))
        .settings(settings)
        .flow(TestFlows.talk())
        .start();
  }

  private static void write(Path file, Settings settings) throws Exception {
    try (Fermata host = host(file, settings)) {
      call(host, "other", "start");
      call(host, "long", "start");
      for (int i = 1; i < RECORDS; i++) {
        call(host, "long", "continue");
      }
    }
    try (OpenStore store = Store.sqlite(file).open()) {
      for (String journal : store.journals("", 10).toCompletableFuture().get()) {
        long events = 0;
        int records = 0;
        for (var stored : store.read(journal, 1, RECORDS).toCompletableFuture().get()) {
          JournalSerializer serializer = new JournalSerializer();
          Object entry = serializer.fromBinary(stored.payload(), stored.manifest());
          events += ((Entry<?>) entry).events().size();
          records++;
        }
        System.out.printf("%s has %d records, %d events%n", journal, records, events);
      }
    }
  }

  private static void call(Fermata host, String session, String action) throws Exception {
    ObjectNode arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to measure");
    } else if (action.equals("continue")) {
      arguments.putObject("stateUpdates").put("word", "a word");
    }
    ObjectNode meta = Json.object().put("sessionId", session);
    host.call(new ToolCall("talk", "local", arguments, meta, null))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  private static double millis(Fermata host, String session) throws Exception {
    long begun = System.nanoTime();
    call(host, session, "status");
    return (System.nanoTime() - begun) / 1e6;
  }

  private static double median(List<Double> times) {
    return times.stream().sorted().toList().get(times.size() / 2);
  }
}
