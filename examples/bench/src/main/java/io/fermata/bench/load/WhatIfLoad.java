package io.fermata.bench.load;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.Fermata;
import io.fermata.session.WhatIf;
import io.fermata.session.WhatIfResult;
import io.fermata.session.admin.Retention;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Measures how long other code takes to decide the runs of a store again. */
@Command(
    name = "what-if",
    mixinStandardHelpOptions = true,
    description = "Decides many recorded runs again, as they were and with another rule.")
public final class WhatIfLoad implements Callable<Integer> {
  private static final int TEMPLATES = 20;

  @Option(names = "--runs", defaultValue = "10000", description = "How many journals.")
  private int runs;

  @Option(names = "--entries", defaultValue = "50", description = "How many entries of each.")
  private int entries;

  @Option(names = "--rounds", defaultValue = "3", description = "How often each is measured.")
  private int rounds;

  private final PrintStream out = System.out;

  record Basket(Integer item, @Computed Integer count, @Computed Integer sum) {}

  /** Each item is asked for, priced by an action and counted; large ones take another way. */
  private Flow<Basket> flow(int large) {
    return Flow.of("basket", Basket.class)
        .description("Fills a basket.")
        .ask(
            "ask_item", q -> q.question("item", "Which item?", o -> o.context("Ask for a number.")))
        .act("price", run -> add(run.state(), 10, run::set))
        .act("price_large", run -> add(run.state(), 8, run::set))
        .edge(Flow.START, "ask_item")
        .decide(
            "ask_item",
            d -> d.when("large", Condition.gt("item", large)).to("price_large").otherwise("price"))
        .decide("price", d -> d.when("full", full()).to(Flow.END).otherwise("ask_item"))
        .decide("price_large", d -> d.when("full", full()).to(Flow.END).otherwise("ask_item"))
        .compile();
  }

  private Condition full() {
    return Condition.gte("count", entries / 2);
  }

  private interface Setter {
    void set(String field, Object value);
  }

  private static void add(Basket basket, int price, Setter set) {
    set.set("count", (basket.count() == null ? 0 : basket.count()) + 1);
    set.set("sum", (basket.sum() == null ? 0 : basket.sum()) + price * basket.item());
  }

  @Override
  public Integer call() throws Exception {
    Path folder = Files.createTempDirectory("fermata-what-if");
    Store store = Store.sqlite(folder.resolve("runs.db"));
    long written = filled(Store.sqlite(folder.resolve("templates.db")), store);
    out.printf("%d journals with %d entries%n", runs, written);
    for (int round = 0; round < rounds; round++) {
      measure("as they were", store, flow(6));
      measure("another rule", store, flow(7));
    }
    return 0;
  }

  private void measure(String what, Store store, Flow<Basket> flow) {
    System.gc();
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      pool.resetPeakUsage();
    }
    long cpu = cpu();
    long startedAt = System.nanoTime();
    WhatIfResult result = WhatIf.of(flow).over(store);
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    double used = (cpu() - cpu) / 1e9;
    long peak =
        ManagementFactory.getMemoryPoolMXBeans().stream()
            .filter(pool -> pool.getType() == MemoryType.HEAP)
            .mapToLong(pool -> pool.getPeakUsage().getUsed())
            .sum();
    out.printf(
        "%-14s %7.1f s, CPU %7.1f s, %d same, %d otherwise, heap up to %d MiB%n",
        what, seconds, used, result.same(), result.otherwise(), peak >> 20);
  }

  private static long cpu() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** Records some runs on a host, and copies their journals as often as it takes. */
  private long filled(Store templates, Store store) {
    List<List<NewEntry>> recorded = new ArrayList<>();
    List<String> ids = new ArrayList<>();
    Retention kept = Retention.ofJournals(Duration.ofDays(1));
    int count = Math.min(TEMPLATES, runs);
    try (Fermata host = Fermata.host().store(templates).retention(kept).flow(flow(6)).start()) {
      for (int i = 0; i < count; i++) {
        ids.add(run(host, i));
      }
    }
    try (OpenStore open = templates.open()) {
      for (String id : ids) {
        recorded.add(journal(open, id));
      }
    }
    long written = 0;
    try (OpenStore open = store.open()) {
      for (int i = 0; i < runs; i++) {
        List<NewEntry> journal = recorded.get(i % count);
        open.importJournal("basket|copy-" + i, journal).toCompletableFuture().join();
        written += journal.size();
      }
    }
    return written;
  }

  private static List<NewEntry> journal(OpenStore store, String id) {
    List<NewEntry> all = new ArrayList<>();
    List<StoredEntry> page = store.read(id, 1, OpenStore.MAX_ENTRIES).toCompletableFuture().join();
    while (!page.isEmpty()) {
      page.forEach(entry -> all.add(new NewEntry(entry, 0, Set.of())));
      long next = page.get(page.size() - 1).seq() + 1;
      page = store.read(id, next, OpenStore.MAX_ENTRIES).toCompletableFuture().join();
    }
    return all;
  }

  /** Fills a basket, and returns the name of its journal. */
  private static String run(Fermata host, int number) {
    ObjectNode meta = Json.object().put("fermata/sessionId", "session-" + number);
    ObjectNode start = Json.object().put("action", "start").put("intent", "wants to buy");
    ToolReply reply = reply(host, start, meta);
    for (int i = 0; reply.structured().path("status").asText().equals("interrupt"); i++) {
      ObjectNode next = Json.object().put("action", "continue");
      next.putObject("stateUpdates").put("item", 1 + (number + i) % 10);
      reply = reply(host, next, meta);
    }
    String run = reply.meta().at("/fermata~1run/runId").asText();
    return "basket|" + run.substring(0, run.indexOf('.'));
  }

  private static ToolReply reply(Fermata host, ObjectNode arguments, ObjectNode meta) {
    CompletableFuture<ToolReply> reply =
        host.call(new ToolCall("basket", "ann", arguments, meta, null), progress -> {})
            .toCompletableFuture();
    return reply.join();
  }
}
