package io.fermata.bench.load;

import io.fermata.persistence.Store;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Measures Fermata and its yardsticks in the same process. */
final class Yardsticks {

  private final PrintStream out;
  private final Windows windows;
  private final Path folder;
  private final List<String> flows;

  Yardsticks(PrintStream out, Windows windows, Path folder, List<String> flows) {
    this.out = out;
    this.windows = windows;
    this.folder = folder;
    this.flows = flows;
  }

  void measure(List<String> stores, List<Integer> concurrency) throws Exception {
    Map<String, JournalShape> shapes = new LinkedHashMap<>();
    for (String flow : flows) {
      JournalShape shape = JournalShape.of(flow);
      shapes.put(flow, shape);
      out.printf(
          "%s: %d entries a run, %s by call, of %d bytes%n",
          flow, shape.total(), shape.entries(), shape.bytes());
    }
    out.printf(
        "%n%-8s %4s %-26s %10s %10s %9s %9s %9s  %s%n",
        "store",
        "c",
        "",
        "runs/s",
        "calls/s",
        "p50 ms",
        "p99 ms",
        "CPU µs",
        "CPU, runs/s of others");
    for (String store : stores) {
      for (int callers : concurrency) {
        onStore(store, callers, shapes);
      }
    }
  }

  private void onStore(String store, int callers, Map<String, JournalShape> shapes)
      throws Exception {
    List<Contender> contenders = new ArrayList<>();
    try {
      for (Map.Entry<String, JournalShape> shape : shapes.entrySet()) {
        String flow = shape.getKey();
        contenders.add(FermataContender.on(store(store, "fermata_" + flow, callers), flow));
        contenders.add(
            BareContender.on(store(store, "bare_" + flow, callers), flow, shape.getValue()));
      }
      contenders.add(LangGraphContender.create());
      Map<Contender, Measurement> medians =
          windows.medians(
              contenders, contender -> new Load(callers, contender::caller, Workload.CALLS));
      print(store.substring(0, (store + ":").indexOf(':')), callers, medians);
    } finally {
      for (Contender contender : contenders) {
        contender.close();
      }
    }
  }

  /** The store of one contender, as hosts do not share a store. */
  private Store store(String store, String name, int callers) {
    String own = name + "_" + callers;
    if (store.equals("memory")) {
      return Store.memory();
    }
    if (store.equals("sqlite")) {
      return Store.sqlite(folder.resolve(own + ".db"));
    }
    return Store.parse(store + (store.contains("?") ? "&" : "?") + "currentSchema=" + own);
  }

  private void print(String store, int callers, Map<Contender, Measurement> medians) {
    medians.forEach(
        (contender, measured) ->
            out.printf(
                "%-8s %4d %-26s %s  %s%n",
                store,
                callers,
                contender.name(),
                measured.row(Workload.CALLS),
                contender instanceof FermataContender fermata ? ratios(fermata, medians) : ""));
  }

  /** The CPU per call and the runs per second, as multiples of the yardsticks'. */
  private static String ratios(FermataContender fermata, Map<Contender, Measurement> medians) {
    Measurement mine = medians.get(fermata);
    StringBuilder ratios = new StringBuilder();
    medians.forEach(
        (other, theirs) -> {
          boolean bare = other instanceof BareContender && other.name().endsWith(fermata.flow());
          if (mine != null && (bare || other instanceof LangGraphContender)) {
            ratios.append(
                String.format(
                    Locale.ROOT,
                    "%s %.2f, %.2f  ",
                    bare ? "bare" : "LangGraph4j",
                    mine.cpuMicros() / theirs.cpuMicros(),
                    mine.runsPerSecond() / theirs.runsPerSecond()));
          }
        });
    return ratios.toString().strip();
  }
}
