package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.PromisesTest.await;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.flow.replay.ForkException;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.ThreadException;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.TaskRun;
import io.fermata.session.call.TaskView;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.RootCauses;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What happens when things meet: late results, sleep, repetitions, the end of a run or a host. */
@Tag("slow")
class RacesTest {
  @TempDir Path dir;

  private Store sqlite() {
    return Store.sqlite(dir.resolve("test.db"));
  }

  @Test
  void aLateResultOfAnEarlierRunIsNotTakenForTheResultOfALaterOne() {
    List<CompletableFuture<Integer>> prices = new CopyOnWriteArrayList<>();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  CompletableFuture<Integer> price = new CompletableFuture<>();
                  prices.add(price);
                  return price.thenAccept(value -> run.set("price", value));
                },
                o -> o.timeout(Duration.ofSeconds(2)))
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      assertThat(code(client.start("from", "Ulm"))).isEqualTo("step_timeout");
      CompletableFuture<ToolReply> second =
          client.sendLater(client.arguments("start").put("intent", "again"), "from", "Bonn");
      await(() -> prices.size() == 2);
      prices.get(0).complete(111);
      prices.get(1).complete(222);
      assertThat(field(got(second))).isEqualTo("to");
      assertThat(client.proceed("to", "x").structured().at("/result/price").asInt()).isEqualTo(222);
    }
  }

  @Test
  void aSessionThatIsOfferedToSleepStaysReachableWhenWorkArrivesFirst() {
    Flow<Trip> flow = TestFlows.trip(run -> Thread.sleep(3), o -> {}).compile();
    try (TestHost host =
        new TestHost(Store.memory(), s -> s.callDeadline(Duration.ofSeconds(5)), flow)) {
      Client client = host.client();
      for (int i = 0; i < 300; i++) {
        assertThat(field(client.start("from", "Ulm"))).isEqualTo("to");
        List<CompletableFuture<ToolReply>> both = new ArrayList<>();
        both.add(client.proceedLater("to", "Bonn"));
        both.add(client.sendLater(client.arguments("start").put("intent", "i"), "from", "A"));
        assertThat(status(got(both.get(0)))).isEqualTo("complete");
        assertThat(field(got(both.get(1)))).isEqualTo("to");
        client.cancel();
      }
    }
  }

  @Test
  void aRepeatedCancelDoesNotCancelTheNextRun() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      assertThat(client.callId("x").cancel().structured().path("cancelled").asBoolean()).isTrue();
      client.noMeta().start();
      CompletableFuture<ToolReply> driving = client.proceedLater("from", "Ulm");
      client.callId("x").cancel();
      assertThat(driving).isNotDone();
      gate.complete(null);
      assertThat(field(got(driving))).isEqualTo("to");
    }
  }

  @Test
  void aRepetitionOfACallThatSaysWhichStateItAnswersWaitsWithIt() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      long seq = client.start().meta().at("/fermata~1run/seq").asLong();
      client.meta = Json.object().put("fermata/callId", "c").put("fermata/seq", seq);
      CompletableFuture<ToolReply> first = client.proceedLater("from", "Ulm");
      CompletableFuture<ToolReply> second = client.proceedLater("from", "Ulm");
      assertThat(second).isNotDone();
      gate.complete(null);
      assertThat(field(got(first))).isEqualTo("to");
      assertThat(field(got(second))).isEqualTo("to");
    }
  }

  @Test
  void aLookThatNamesItselfDoesNotMakeTheOriginalCallUnknown() {
    List<CompletableFuture<Void>> gates = new CopyOnWriteArrayList<>();
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  ran.incrementAndGet();
                  CompletableFuture<Void> gate = new CompletableFuture<>();
                  gates.add(gate);
                  return gate;
                },
                o -> {})
            .compile();
    try (TestHost host =
        new TestHost(Store.memory(), s -> s.callDeadline(Duration.ofMillis(300)), flow)) {
      Client client = host.client();
      client.start();
      assertThat(code(client.callId("c1").proceed("from", "Ulm"))).isEqualTo("still_working");
      await(() -> gates.size() == 1);
      CompletableFuture<ToolReply> look = client.callId("c2").proceedLater();
      gates.get(0).complete(null);
      assertThat(field(client.outcome(got(look)))).isEqualTo("to");
      assertThat(field(client.callId("c1").proceed("from", "Ulm"))).isEqualTo("to");
      assertThat(ran).hasValue(1);
    }
  }

  @Test
  void aRepeatedStartDrivesNothingEvenAfterItsRunHasCompleted() {
    AtomicInteger ran = new AtomicInteger();
    Flow<Trip> flow = TestFlows.trip(run -> ran.incrementAndGet(), o -> {}).compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.callId("s1").start("from", "Ulm");
      client.callId("c2").proceed("to", "Bonn");
      host.crash();
      assertThat(code(client.callId("s1").start("from", "Ulm"))).isEqualTo("run_completed");
      assertThat(ran).hasValue(1);
      assertThat(field(client.callId("s3").start("from", "Ulm"))).isEqualTo("to");
    }
  }

  @Test
  void aRunAtWorkWhoseVersionIsGoneSaysSoAtOnce() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    Flow<Trip> flow =
        TestFlows.tripAsync(
                run -> {
                  begun.countDown();
                  return new CompletableFuture<>();
                },
                o -> {})
            .compile();
    Flow<Trip> other =
        Flow.of("trip", Trip.class)
            .description("Another.")
            .ask("ask_to", q -> q.question("to", "Where to?"))
            .edge(START, "ask_to")
            .edge("ask_to", END)
            .version(2)
            .compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> lost = client.proceedLater("from", "Ulm");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      host.crash(other);
      assertThat(code(got(lost))).isEqualTo("shutting_down");
      assertThat(code(client.proceed())).isEqualTo("version_changed");
      assertThat(code(client.proceed())).as("once more").isEqualTo("version_changed");
      assertThat(field(client.start())).isEqualTo("to");
    }
  }

  @Test
  void abandonedRunsLeaveNothingBehind() {
    try (TestHost host = new TestHost(sqlite(), TestFlows.trip())) {
      Client client = host.client();
      for (int i = 0; i < 50; i++) {
        client.start("from", "Ulm");
      }
      await(() -> rows() <= 4);
      assertThat(field(client.proceed())).isEqualTo("to");
      host.crash();
      assertThat(client.proceed("to", "Bonn").structured().at("/result/from").asText())
          .isEqualTo("Ulm");
    }
  }

  private long rows() {
    try (Connection connection =
            DriverManager.getConnection("jdbc:sqlite:" + dir.resolve("test.db"));
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery("select count(*) from event_journal")) {
      return result.next() ? result.getLong(1) : -1;
    } catch (SQLException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aCallerThatWaitsInsideItsContinuationHoldsUpNobody() throws Exception {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Fermata fermata = host.fermata();
      ObjectNode start = Json.object().put("action", "start").put("intent", "i");
      CompletableFuture<ToolReply> nested =
          fermata
              .call(new ToolCall("trip", "a", start, Json.object(), null))
              .thenApply(
                  first ->
                      fermata
                          .call(new ToolCall("trip", "b", start, Json.object(), null))
                          .toCompletableFuture()
                          .join())
              .toCompletableFuture();
      assertThat(field(nested.get(60, TimeUnit.SECONDS))).isEqualTo("from");
    }
  }

  @Test
  void aFailureIsReportedWhateverItsTextIsMadeOf() {
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  throw new IllegalStateException("x".repeat(499 - 33) + "😀😀\ud83d" + "y");
                },
                o -> {})
            .compile();
    try (TestHost host = new TestHost(sqlite(), flow)) {
      assertThat(code(host.client().start("from", "Ulm"))).isEqualTo("step_failed");
    }
  }

  @Test
  void aHugeNumberOfUnknownArgumentsGetsAShortAnswer() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      Client client = host.client();
      ObjectNode many = client.arguments("start");
      for (int i = 0; i < 20_000; i++) {
        many.put("argument" + i, i);
      }
      ToolReply reply = client.send(many);
      assertThat(code(reply)).isEqualTo("invalid_arguments");
      assertThat(reply.structured().toString().length()).isLessThan(10_000);
    }
  }

  @Test
  void floodingOneSessionIsRefusedAsBusyAndHurtsNobodyElse() {
    CompletableFuture<Void> gate = new CompletableFuture<>();
    Flow<Trip> flow = TestFlows.tripAsync(run -> gate, o -> {}).compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> driving = client.proceedLater("from", "Ulm");
      List<CompletableFuture<ToolReply>> flood = new ArrayList<>();
      for (int i = 0; i < 9_000; i++) {
        flood.add(client.proceedLater());
      }
      assertThat(field(host.client().start())).isEqualTo("from");
      gate.complete(null);
      assertThat(field(got(driving))).isEqualTo("to");
      flood.forEach(reply -> assertThat(code(got(reply))).isIn("busy", "none"));
    }
  }

  @Test
  void manySessionsOnAHostThatHoldsFewAllGetTheirAnswer() {
    try (TestHost host =
        new TestHost(
            Store.memory(),
            s -> s.awake(50).callDeadline(Duration.ofMinutes(5)),
            TestFlows.trip())) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "i");
      List<CompletableFuture<ToolReply>> all = new ArrayList<>();
      for (int i = 0; i < 5_000; i++) {
        ToolCall call = new ToolCall("trip", "p" + i, start, Json.object(), null);
        all.add(host.fermata().call(call).toCompletableFuture());
      }
      all.forEach(reply -> assertThat(field(got(reply))).isEqualTo("from"));
    }
  }

  @Test
  void aClosedHostSaysSoAndClosingItAgainDoesNothing() {
    TestHost host = new TestHost(Store.memory(), TestFlows.trip());
    Client client = host.client();
    client.start();
    host.close();
    assertThat(code(client.proceed("from", "Ulm"))).isEqualTo("shutting_down");
    host.close();
  }

  private static String refusal(Supplier<? extends CompletionStage<?>> asked) throws Exception {
    CompletionStage<String> said =
        asked
            .get()
            .handle(
                (reply, thrown) -> {
                  ThreadException refused = RootCauses.find(thrown, ThreadException.class);
                  ForkException unforked = RootCauses.find(thrown, ForkException.class);
                  if (reply instanceof ToolReply told) {
                    return code(told);
                  } else if (unforked != null) {
                    return unforked.code();
                  }
                  return refused == null ? reply + " or " + thrown : refused.code();
                });
    return said.toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Test
  void aClosedHostSaysShuttingDownToWhoeverAsksIt(@TempDir Path directory) throws Exception {
    for (Store store : List.of(Store.memory(), Store.sqlite(directory.resolve("host.db")))) {
      aClosedHostSaysShuttingDown(store);
    }
  }

  private static Threads.Listener unheard() {
    return new Threads.Listener() {
      @Override
      public void happened(long offset, int index, long at, ThreadEvent event) {}

      @Override
      public void streamed(MessageDelta delta) {}

      @Override
      public void ended(@Nullable Throwable why) {}
    };
  }

  private static void aClosedHostSaysShuttingDown(Store store) throws Exception {
    Fermata host =
        Fermata.host()
            .store(store)
            .flow(TestFlows.trip())
            .agent(Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Heard."))))
            .start();
    ObjectNode start = Json.object().put("action", "start").put("intent", "to travel");
    ToolCall starts = new ToolCall("trip", "ann", start, Json.object(), null);
    ToolReply started = got(host.call(starts).toCompletableFuture());
    String run = started.meta().at("/fermata~1run/runId").asText();
    String thread =
        host.threads()
            .create(new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of()))
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS)
            .threadId();
    ObjectNode status = Json.object().put("action", "status").put("threadId", thread);
    ToolCall asksDesk = new ToolCall("desk", "ann", status, Json.object(), null);
    ThreadJournal journal =
        host.journals()
            .thread(thread)
            .readWithSecrets()
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS);
    TaskRun task = new TaskRun("ann", "trip", run);
    host.close();

    Map<String, Supplier<? extends CompletionStage<?>>> asked = new LinkedHashMap<>();
    asked.put("thread", () -> host.threads().get("ann", thread));
    asked.put("settled", () -> host.threads().settled("ann", thread, Duration.ofSeconds(60)));
    asked.put("file", () -> host.threads().file("ann", thread, "/a"));
    asked.put(
        "messages", () -> host.threads().messages("ann", thread, Threads.MessageQuery.latest(10)));
    asked.put("follow", () -> host.threads().follow("ann", thread, 0, -1, unheard()));
    asked.put(
        "threads",
        () ->
            host.threads()
                .list(new Threads.Query("ann", null, Set.of(), null, null, true, 10, null)));
    asked.put(
        "keyed thread",
        () ->
            host.threads()
                .create(
                    new Threads.NewThread("ann", "desk", "k-1", Set.of(), Map.of(), List.of())));
    asked.put("forked thread", () -> host.threads().fork("ann", thread, Threads.NewFork.live()));
    asked.put("forked journal", () -> host.threads().fork("ann", journal, Threads.NewFork.live()));
    asked.put("runs", () -> host.runs().list(RunQuery.ALL));
    asked.put("count", () -> host.runs().count(RunQuery.ALL, 10));
    asked.put("listed run", () -> host.runs().get("trip", run));
    asked.put("rebuild", () -> host.runs().rebuild());
    asked.put("erased run", () -> host.runs().erase("trip", run));
    asked.put("erased principal", () -> host.runs().erasePrincipal("ann"));
    asked.put("run", () -> host.runs().status("trip", run));
    asked.put("cancelled run", () -> host.runs().cancel("trip", run, "ops"));
    asked.put("entries", () -> host.runs().entries("trip", run, 0, 10));
    asked.put("fork", () -> host.runs().fork("trip", run, 2, ForkOptions.sandbox()));
    asked.put("task", () -> host.tasks().view(task).thenApply(TaskView::reply));
    asked.put("cancelled task", () -> host.tasks().cancel(task));
    asked.put("agent", () -> host.call(asksDesk));
    for (Map.Entry<String, Supplier<? extends CompletionStage<?>>> each : asked.entrySet()) {
      assertThat(refusal(each.getValue())).as(each.getKey()).isEqualTo("shutting_down");
    }
  }

  @Test
  @Timeout(300)
  void aHostClosesWithoutWaitingForTheNextAttemptOfAFailedStep() {
    Flow<Trip> flow =
        TestFlows.trip(
                run -> {
                  Thread.sleep(200);
                  throw new IllegalStateException("not yet");
                },
                o -> o.retry(3, Duration.ofHours(1)))
            .compile();
    TestHost host = new TestHost(Store.memory(), s -> s.callDeadline(Duration.ofMillis(50)), flow);
    Client client = host.client();
    assertThat(code(client.start("from", "Ulm"))).isEqualTo("still_working");
    host.fermata().close(Duration.ofHours(1));
    host.close();
  }
}
