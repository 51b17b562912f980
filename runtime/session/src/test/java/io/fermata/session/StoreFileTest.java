package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.langchain4j.data.message.AiMessage;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.Schedule;
import io.fermata.session.admin.Settings;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.DisplayTool;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.JournalSerializer;
import io.fermata.session.journal.ScheduleEntry;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store file with sessions in all kinds of states, as each release has written one, is taken over
 * by this release, and every session goes on. The flows here never change.
 */
class StoreFileTest {
  record Trip(String from, String to, String seat, @Computed String booked) {}

  @TempDir Path dir;

  // --- what was hosted ------------------------------------------------------------------------

  private static FlowBuilder<Trip> flow(String id) {
    return Flow.of(id, Trip.class).description("Goes on.").result(trip -> trip);
  }

  private static FlowBuilder<Trip> line(FlowBuilder<Trip> flow, String... nodes) {
    String from = START;
    for (String node : nodes) {
      flow.edge(from, node);
      from = node;
    }
    return flow.edge(from, END);
  }

  private static FlowBuilder<Trip> asking(FlowBuilder<Trip> flow) {
    return flow.ask("ask_from", q -> q.question("from", "Where from?"))
        .ask("ask_to", q -> q.question("to", "Where to?"));
  }

  /**
   * @param writes the step of the run at work never ends, and that of the one that failed fails
   */
  private static List<Flow<?>> flows(boolean writes) {
    Flow<Trip> inner = line(asking(flow("inner")), "ask_from", "ask_to").compile();
    return List.of(
        line(
                asking(flow("question"))
                    .act("book", run -> run.set("booked", "yes"))
                    .compensate("book", run -> {}),
                "ask_from",
                "book",
                "ask_to")
            .compile(),
        line(flow("widget").widget("show", w -> w.tool("seats").field("seat")), "show").compile(),
        line(
                asking(flow("timer")).sleep("sleep", Duration.ofSeconds(1)),
                "ask_from",
                "sleep",
                "ask_to")
            .compile(),
        line(flow("later").sleep("sleep", Duration.ofDays(40_000)), "sleep").compile(),
        line(flow("signal").waitFor("wait", "arrived", "to"), "wait").compile(),
        asking(flow("fork"))
            .act("begin", run -> {})
            .ask("ask_seat", q -> q.question("seat", "Which seat?"))
            .edge(START, "begin")
            .fork("begin", f -> f.branch("ask_from").branch("ask_to").join("ask_seat"))
            .edge("ask_from", "ask_seat")
            .edge("ask_to", "ask_seat")
            .edge("ask_seat", END)
            .compile(),
        line(flow("subflow").subflow("leg", inner, s -> {}), "leg").compile(),
        line(
                flow("working")
                    .actAsync(
                        "work",
                        run -> {
                          run.set("booked", "attempt " + run.attempt());
                          return writes
                              ? new CompletableFuture<Void>()
                              : CompletableFuture.completedFuture(null);
                        }),
                "work")
            .compile(),
        line(
                flow("failed")
                    .act(
                        "work",
                        run -> {
                          if (writes) {
                            throw new IllegalStateException("out of order");
                          }
                          run.set("booked", "at last");
                        }),
                "work")
            .compile(),
        line(asking(flow("ended")), "ask_from", "ask_to").compile());
  }

  private static Agent echo() {
    return Agent.aiHuman(
        "echo",
        Prompt.of(
            "p", ScriptedModels.answering(messages -> AiMessage.from("heard " + messages.size()))));
  }

  private static Fermata host(Path file, boolean writes) {
    HostBuilder host = Fermata.host().store(Store.sqlite(file)).agent(echo());
    flows(writes).forEach(host::flow);
    Settings settings =
        writes ? Settings.DEFAULT.callDeadline(Duration.ofMillis(500)) : Settings.DEFAULT;
    return host.settings(settings)
        .display(DisplayTool.of("seats", "Seats", "Shows seats.", "<html></html>"))
        .schedule(Schedule.of("nightly", "question").cron("0 3 * * *").intent("every night"))
        .start();
  }

  private static ToolReply call(Fermata host, String flow, String action, Object... updates)
      throws Exception {
    ObjectNode arguments = Json.object().put("action", action);
    if (action.equals("start")) {
      arguments.put("intent", "to be kept");
    }
    for (int i = 0; i < updates.length; i += 2) {
      arguments
          .withObjectProperty("stateUpdates")
          .set((String) updates[i], Json.tree(updates[i + 1]));
    }
    ObjectNode meta = Json.object().put("sessionId", "golden");
    return now(host.call(new ToolCall(flow, "local", arguments, meta, null)));
  }

  private static void say(Fermata host, String thread) throws Exception {
    Threads.NewMessage message = new Threads.NewMessage(Message.user("Hi"), List.of(), null);
    now(host.threads().post("ann", thread, message));
    now(host.threads().settled("ann", thread, Duration.ofSeconds(30)));
  }

  /** The only thread; empty if the directory has none yet. */
  private static String thread(Fermata host) {
    try {
      Threads.Query all = new Threads.Query("ann", null, Set.of(), null, null, true, 10, null);
      return now(host.threads().list(all)).threads().stream()
          .map(Threads.Listed::threadId)
          .findFirst()
          .orElse("");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static <T> T now(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  // --- writing --------------------------------------------------------------------------------

  @Test
  @EnabledIfSystemProperty(named = "store.file", matches = "store-[0-9]+")
  void aReleaseWritesItsOwn() throws Exception {
    Path file = dir.resolve("written.db");
    Fermata host = host(file, true);
    for (Flow<?> flow : flows(true)) {
      boolean asks = flow.nodeIds().contains("ask_from");
      call(host, flow.id(), "start", asks ? new Object[] {"from", "Ulm"} : new Object[0]);
    }
    call(host, "subflow", "continue", "leg.from", "Ulm");
    call(host, "ended", "continue", "to", "Rome");
    Threads.NewThread thread =
        new Threads.NewThread("ann", "echo", null, Set.of("vip"), Map.of(), List.of());
    String id = now(host.threads().create(thread)).threadId();
    say(host, id);
    TestHost.eventually(() -> thread(host).equals(id));
    host.crash();
    String name = System.getProperty("store.file") + ".db.gz";
    try (OutputStream out =
        new GZIPOutputStream(Files.newOutputStream(Path.of("src/test/resources", name)))) {
      try (OpenStore store = Store.sqlite(file).open()) {
        assertThat(store.describe()).isNotEmpty();
      }
      Files.copy(file, out);
    }
  }

  // --- taking over ----------------------------------------------------------------------------

  @TestFactory
  List<DynamicTest> everySessionOfAnEarlierReleaseGoesOn() {
    List<DynamicTest> tests = new ArrayList<>();
    for (int n = 1; getClass().getResource("/store-" + n + ".db.gz") != null; n++) {
      String name = "store-" + n;
      tests.add(DynamicTest.dynamicTest(name, () -> goesOn(name)));
    }
    assertThat(tests).as("CONTRIBUTING, \"Release\", says how one is written").isNotEmpty();
    return tests;
  }

  private void goesOn(String name) throws Exception {
    Path file = dir.resolve(name + ".db");
    try (InputStream in = getClass().getResourceAsStream("/" + name + ".db.gz")) {
      Files.copy(new GZIPInputStream(in), file);
    }
    try (Fermata host = host(file, false)) {
      assertThat(open(call(host, "question", "status"))).isEqualTo("to");
      ToolReply booked = call(host, "question", "continue", "to", "Rome");
      assertThat(text(booked, "/result/booked")).isEqualTo("yes");
      assertThat(text(call(host, "widget", "status"), "/tool")).isEqualTo("seats");
      assertThat(text(call(host, "widget", "continue", "seat", "7a"), "/result/seat"))
          .isEqualTo("7a");
      TestHost.eventually(() -> slept(host));
      assertThat(text(call(host, "timer", "continue", "to", "Rome"), "/result/from"))
          .isEqualTo("Ulm");
      assertThat(text(call(host, "later", "status"), "/status")).isEqualTo("waiting");
      String runId = call(host, "signal", "status").meta().at("/fermata~1run/runId").asText();
      now(host.signal("signal", runId, "arrived", "Rome", null));
      assertThat(text(call(host, "signal", "continue"), "/result/to")).isEqualTo("Rome");
      assertThat(open(call(host, "fork", "continue", "to", "Rome"))).isEqualTo("seat");
      assertThat(text(call(host, "fork", "continue", "seat", "7a"), "/result/to"))
          .isEqualTo("Rome");
      assertThat(open(call(host, "subflow", "status"))).isEqualTo("leg.to");
      assertThat(text(call(host, "subflow", "continue", "leg.to", "Rome"), "/status"))
          .isEqualTo("complete");
      assertThat(text(call(host, "working", "continue"), "/result/booked")).isEqualTo("attempt 2");
      assertThat(text(call(host, "failed", "continue"), "/result/booked")).isEqualTo("at last");
      assertThat(text(call(host, "ended", "continue"), "/code")).isEqualTo("run_completed");
      say(host, thread(host));
      assertThat(
              now(host.threads()
                      .messages("ann", thread(host), Threads.MessageQuery.latest(9).withSilent()))
                  .messages())
          .hasSize(4);
    }
    scheduleIsRead(file);
  }

  private static void scheduleIsRead(Path file) throws Exception {
    try (OpenStore store = Store.sqlite(file).open()) {
      List<StoredEntry> records = now(store.read("~schedule|nightly", 1, 10));
      assertThat(records).isNotEmpty();
      for (StoredEntry stored : records) {
        assertThat(new JournalSerializer().fromBinary(stored.payload(), stored.manifest()))
            .isInstanceOf(ScheduleEntry.class);
      }
    }
  }

  private static boolean slept(Fermata host) {
    try {
      return open(call(host, "timer", "status")).equals("to");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static String open(ToolReply reply) {
    return text(reply, "/field");
  }

  private static String text(ToolReply reply, String path) {
    return reply.structured().at(path).asText();
  }
}
