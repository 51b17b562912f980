package io.fermata.bench.load;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import java.util.ArrayList;
import java.util.List;

/**
 * How much a run of a flow writes, for a yardstick that writes the same.
 *
 * @param entries per call
 * @param bytes of an entry on average
 */
record JournalShape(List<Integer> entries, int bytes) {

  private static final int RUNS = 20;

  /** Runs the flow in memory and looks at its journals. */
  static JournalShape of(String flow) throws Exception {
    Store store = Store.memory();
    try (FermataContender fermata = FermataContender.on(store, flow);
        OpenStore open = store.open()) {
      long[] written = new long[Workload.CALLS];
      Target target = new InProcess(fermata.host());
      for (int run = 0; run < RUNS; run++) {
        String sessionId = "";
        for (int call = 0; call < Workload.CALLS; call++) {
          long before = newest(open);
          sessionId = LoadHarness.call(target, flow, call, sessionId, run);
          written[call] += newest(open) - before;
        }
      }
      List<Integer> entries = new ArrayList<>();
      for (long all : written) {
        entries.add((int) Math.max(1, Math.round((double) all / RUNS)));
      }
      return new JournalShape(entries, averageBytes(open));
    }
  }

  private static long newest(OpenStore open) {
    return open.newest().toCompletableFuture().join();
  }

  private static int averageBytes(OpenStore open) {
    long bytes = 0;
    long entries = 0;
    for (String id : open.journals("", OpenStore.MAX_ENTRIES).toCompletableFuture().join()) {
      for (var entry : open.read(id, 1, OpenStore.MAX_ENTRIES).toCompletableFuture().join()) {
        bytes += entry.payload().length;
        entries++;
      }
    }
    return (int) (bytes / Math.max(1, entries));
  }

  int total() {
    return entries.stream().mapToInt(Integer::intValue).sum();
  }
}
