package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Json;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.StoreFiles;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The promises of the wire contract, each on a real SQLite file. */
@Tag("slow")
public class PromisesTest {
  @TempDir Path dir;

  private Path file() {
    return dir.resolve("test.db");
  }

  private Store sqlite() {
    return Store.sqlite(file());
  }

  private long rows(String sql) {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      return result.next() ? result.getLong(1) : -1;
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  private void sql(String... statements) throws SQLException {
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file());
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    }
  }

  @Test
  void anActionSeesItsRunInTheJournalBeforeItRuns() {
    List<Long> journaled = new CopyOnWriteArrayList<>();
    Flow<Trip> flow =
        TestFlows.trip(run -> journaled.add(rows("select count(*) from event_journal")), o -> {})
            .compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.start();
      client.proceed("from", "Ulm");
      assertThat(journaled).containsExactly(2L);
    }
  }

  @Test
  void anIdempotentActionCostsNoJournalEntryOfItsOwn() {
    Flow<Trip> flow =
        TestFlows.trip(run -> run.set("price", 1), EffectOptions::idempotent).compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.start();
      assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
      assertThat(rows("select count(*) from event_journal")).isEqualTo(2);
    }
  }

  /** Otherwise the session stays due, and its timer shows as late, for as long as it works. */
  @Test
  void aTimerIsOverInTheJournalBeforeTheIdempotentActionThatFollowsIt() throws Exception {
    CompletableFuture<Long> journaled = new CompletableFuture<>();
    Flow<Trip> flow =
        Flow.of("trip", Trip.class)
            .description("Rests.")
            .sleep("rest", Duration.ofSeconds(1))
            .actAsync(
                "book",
                run -> {
                  journaled.complete(rows("select count(*) from event_journal"));
                  return new CompletableFuture<>();
                },
                EffectOptions::idempotent)
            .edge(START, "rest")
            .edge("rest", "book")
            .edge("book", END)
            .compile();
    try (TestHost host =
        new TestHost(sqlite(), s -> s.callDeadline(Duration.ofMillis(200)), flow)) {
      assertThat(status(host.client().start())).isEqualTo("waiting");
      assertThat(rows("select count(*) from event_journal")).isEqualTo(1);
      assertThat(journaled.get(60, TimeUnit.SECONDS)).isEqualTo(2);
    }
  }

  @Test
  void aFailingWriteIsAnErrorAtOnceAndTheSessionComesBackWhenTheStoreDoes() throws Exception {
    UnaryOperator<Settings> patient = s -> s.callDeadline(Duration.ofHours(1));
    try (TestHost host = new TestHost(sqlite(), patient, TestFlows.trip())) {
      Client client = host.client();
      client.start();
      sql("alter table event_journal rename to hidden");
      // The reply comes long before the deadline of the call.
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("store_unavailable");
      sql("alter table hidden rename to event_journal");
      assertThat(field(client.proceed())).isEqualTo("from");
      assertThat(field(client.proceed("from", "Ulm"))).isEqualTo("to");
    }
  }

  /** Only the death of the process leaves the outcome of a step unknown. */
  @Test
  void theResultOfAStepThatRunsOnceIsPersistedWhenTheStoreIsBack() throws Exception {
    AtomicInteger ran = new AtomicInteger();
    CountDownLatch acting = new CountDownLatch(1);
    CountDownLatch away = new CountDownLatch(1);
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  acting.countDown();
                  return CompletableFuture.runAsync(
                      () -> {
                        awaited(away);
                        run.set("price", ran.incrementAndGet());
                      });
                },
                EffectOptions::once)
            .compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> reply = client.proceedLater("from", "Ulm");
      awaited(acting);
      sql("alter table event_journal rename to hidden");
      sql("alter table snapshot rename to hidden_snapshot");
      away.countDown();
      assertThat(code(got(reply))).isEqualTo("store_unavailable");
      assertThat(code(client.proceed())).as("woken in vain").isEqualTo("store_unavailable");
      sql("alter table hidden_snapshot rename to snapshot");
      assertThat(code(client.proceed())).as("woken in vain").isEqualTo("store_unavailable");
      sql("alter table hidden rename to event_journal");
      TestHost.eventually(() -> field(client.proceed()).equals("to"));
      assertThat(client.proceed("to", "Bonn").structured().path("result").path("price").asInt())
          .isEqualTo(1);
      assertThat(ran).hasValue(1);
    }
  }

  private static void awaited(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Test
  void callsOfOneSessionAreHandledOneAtATimeInTheOrderTheyCame() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.talk())) {
      Client client = host.client();
      client.start();
      List<CompletableFuture<ToolReply>> replies = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        replies.add(client.proceedLater("word", "w" + i));
      }
      replies.forEach(reply -> assertThat(field(got(reply))).isEqualTo("word"));
      List<String> said = new ArrayList<>();
      client.proceed("word", "bye").structured().path("result").forEach(w -> said.add(w.asText()));
      assertThat(said)
          .containsExactly(
              "w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12",
              "w13", "w14", "w15", "bye");
    }
  }

  @Test
  void sixteenCallsWaitAndTheNextIsRefusedAsBusy() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> driving = client.proceedLater("from", "Ulm");
      List<CompletableFuture<ToolReply>> waiting = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        waiting.add(client.proceedLater());
      }
      assertThat(code(client.proceed())).isEqualTo("busy");
      assertThat(driving).isNotDone();
      gate.complete(null);
      assertThat(field(got(driving))).isEqualTo("to");
      waiting.forEach(reply -> assertThat(field(got(reply))).isEqualTo("to"));
    }
  }

  @Test
  void aCallWhoseReplyIsNoLongerKeptIsNotDrivenAgain() {
    try (TestHost host = new TestHost(sqlite(), TestFlows.talk())) {
      Client client = host.client();
      client.start();
      List<String> words = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        words.add("word " + i);
        client.callId("c" + i).proceed("word", words.get(i));
      }
      ToolReply again = client.callId("c7").proceed("word", "word 7");
      assertThat(code(again)).isEqualTo("stale_call");
      assertThat(field(again)).isEqualTo("word");
      host.crash();
      assertThat(code(client.callId("c7").proceed("word", "word 7"))).isEqualTo("stale_call");
      words.add("bye");
      assertThat(client.noMeta().proceed("word", "bye").structured().path("result"))
          .isEqualTo(Json.tree(words));
    }
  }

  @Test
  void theNameOfACallIsNotForAnotherRequest() {
    try (TestHost host = new TestHost(sqlite(), TestFlows.talk())) {
      Client client = host.client();
      client.start();
      ToolReply first = client.callId("c1").proceed("word", "hello");
      ToolReply other = client.callId("c1").proceed("word", "world");
      assertThat(code(other)).isEqualTo("key_used");
      assertThat(field(other)).isEqualTo("word");
      assertThat(code(client.callId("c1").reset("word", "hello"))).isEqualTo("key_used");
      host.crash();
      assertThat(code(client.callId("c1").proceed("word", "world"))).isEqualTo("key_used");
      assertThat(json(client.callId("c1").proceed("word", "hello"))).isEqualTo(json(first));
      ToolReply last = client.callId("c2").proceed("word", "bye");
      assertThat(last.structured().path("result")).isEqualTo(Json.tree(List.of("hello", "bye")));
      host.crash();
      assertThat(code(client.callId("c1").proceed("word", "world"))).isEqualTo("key_used");
      assertThat(code(client.callId("c2").proceed("word", "ciao"))).isEqualTo("key_used");
    }
  }

  @Test
  void theNameOfACallInFlightIsNotForAnotherRequest() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      client.callId("same");
      CompletableFuture<ToolReply> first = client.proceedLater("from", "Ulm");
      CompletableFuture<ToolReply> second = client.proceedLater("from", "Bonn");
      gate.complete(null);
      assertThat(field(got(first))).isEqualTo("to");
      assertThat(code(got(second))).isEqualTo("key_used");
    }
  }

  @Test
  void aNamedCallCutOffByACrashIsAnsweredOnceEvenIfTheClientLookedFirst() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  begun.countDown();
                  return ran.incrementAndGet() == 1
                      ? new CompletableFuture<>()
                      : CompletableFuture.completedFuture(run.append("log", run.state().from()));
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> lost = client.callId("c1").proceedLater("from", "Ulm");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      host.crash();
      assertThat(code(got(lost))).isEqualTo("shutting_down");
      assertThat(field(client.noMeta().proceed())).isEqualTo("to");
      assertThat(field(client.callId("c1").proceed("from", "Ulm"))).isEqualTo("to");
      assertThat(ran).hasValue(2);
    }
  }

  @Test
  void aCallThatIsSentAgainWhileItIsBeingDrivenWaitsForTheSameReply() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  ran.incrementAndGet();
                  return gate;
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      client.callId("same");
      CompletableFuture<ToolReply> first = client.proceedLater("from", "Ulm");
      CompletableFuture<ToolReply> second = client.proceedLater("from", "Ulm");
      gate.complete(null);
      assertThat(got(second)).isEqualTo(got(first));
      assertThat(ran).hasValue(1);
    }
  }

  @Test
  void aChangedGraphIsNeverRunSilently() {
    Flow<Trip> one = TestFlows.trip();
    FlowBuilder<Trip> builder =
        Flow.of("trip", Trip.class)
            .description("Books a trip.")
            .ask("ask_to", q -> q.question("to", "Where to?"))
            .edge(Flow.START, "ask_to")
            .edge("ask_to", Flow.END);
    Flow<Trip> changed = builder.compile();
    try (TestHost host = new TestHost(sqlite(), one)) {
      Client client = host.client();
      client.start("from", "Ulm");
      host.restart(changed);
      ToolReply refused = client.proceed("to", "Bonn");
      assertThat(code(refused)).isEqualTo("version_changed");
      assertThat(refused.structured().path("error").asText())
          .contains(one.fingerprint(), changed.fingerprint(), "under the same version")
          .endsWith("Give the changed graph version 2 with migrate(1, …), or restore the graph.");
      assertThat(code(client.status())).isEqualTo("version_changed");
      host.restart(one);
      assertThat(field(client.status())).isEqualTo("to");
      host.restart(changed, builder.version(2).compile());
      assertThat(client.proceed("to", "Bonn").structured().path("error").asText())
          .endsWith("Leave version 1 out and let version 2 migrate(1, …), or restore the graph.");
      host.restart(builder.migrate(1, m -> {}).compile());
      assertThat(status(client.proceed("to", "Bonn"))).isEqualTo("complete");
    }
  }

  @Test
  void aRunStaysOnTheVersionItBeganOnWhileItIsRegistered() {
    Flow<Trip> one = TestFlows.trip();
    Flow<Trip> two = TestFlows.trip(run -> run.set("price", 99), o -> {}).version(2).compile();
    try (TestHost host = new TestHost(sqlite(), one)) {
      Client client = host.client();
      client.start();
      host.restart(one, two);
      assertThat(client.proceed("from", "Ulm").meta().at("/fermata~1run/version").asInt())
          .isEqualTo(1);
      assertThat(client.proceed("to", "Bonn").structured().at("/result/price").asInt())
          .isEqualTo(7);
      client.start("from", "Ulm", "to", "Bonn");
      Client other = host.client();
      assertThat(other.start("from", "A", "to", "B").structured().at("/result/price").asInt())
          .isEqualTo(99);
    }
  }

  @Test
  void aCallThatOutlastsItsDeadlineDoesNotLoseTheRun() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host =
        new TestHost(sqlite(), s -> s.callDeadline(Duration.ofMillis(200)), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("still_working");
      assertThat(code(client.proceed())).isEqualTo("still_working");
      assertThat(code(client.status())).isEqualTo("still_working");
      gate.complete(null);
      assertThat(field(client.outcome(client.proceed()))).isEqualTo("to");
    }
  }

  @Test
  void theResultOfARunThatCompletedWhileNobodyWaitedIsFetchedOnce() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    record One(String a) {}
    Flow<One> flow =
        Flow.of("one", One.class)
            .description("Works long.")
            .ask("ask", q -> q.question("a", "A?"))
            .actAsync("work", run -> gate)
            .edge(Flow.START, "ask")
            .edge("ask", "work")
            .edge("work", Flow.END)
            .result(One::a)
            .compile();
    try (TestHost host =
        new TestHost(sqlite(), s -> s.callDeadline(Duration.ofMillis(200)), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.proceed("a", "x"))).isEqualTo("still_working");
      gate.complete(null);
      await(() -> "complete".equals(status(client.status())));
      host.crash();
      ToolReply fetched = client.outcome(client.proceed());
      assertThat(fetched.structured().path("result").asText()).isEqualTo("x");
      assertThat(code(client.outcome(client.proceed()))).isEqualTo("run_completed");
    }
  }

  @Test
  void anAnswerToAnIdempotentActionThatOutlastsTheDeadlineIsInTheJournalBeforeTheReply()
      throws Exception {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, EffectOptions::idempotent).compile();
    try (TestHost host =
        new TestHost(sqlite(), s -> s.callDeadline(Duration.ofMillis(200)), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("still_working");
      host.crash();
      gate.complete(null);
      await(() -> "to".equals(field(client.proceed())));
    }
  }

  @Test
  void whatIsLeftOfACompletedRunIsOneRecordWithoutItsData() throws Exception {
    try (TestHost host = new TestHost(sqlite(), TestFlows.trip())) {
      Client client = host.client();
      StoreFiles files = new StoreFiles(dir);
      client.start("from", "Castrop-Rauxel");
      assertThat(files.records()).anyMatch(record -> record.contains("Castrop"));
      client.proceed("to", "Bonn");
      await(() -> rows("select count(*) from event_journal") == 1);
      assertThat(files.records()).hasSize(1).noneMatch(record -> record.contains("Castrop"));
      assertThat(rows("select count(*) from snapshot")).isZero();
      assertThat(code(client.proceed())).isEqualTo("run_completed");
      host.crash();
      assertThat(code(client.proceed())).isEqualTo("run_completed");
      assertThat(field(client.start())).isEqualTo("from");
    }
  }

  private static String json(ToolReply reply) {
    return reply.structured() + " " + reply.meta();
  }

  public static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("it should have happened by now").isLessThan(end);
      try {
        Thread.sleep(20);
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }
}
