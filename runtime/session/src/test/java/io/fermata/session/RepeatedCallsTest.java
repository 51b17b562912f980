package io.fermata.session;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.session.TestHost.code;
import static io.fermata.session.TestHost.field;
import static io.fermata.session.TestHost.got;
import static io.fermata.session.TestHost.status;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Describe;
import io.fermata.persistence.Store;
import io.fermata.session.TestFlows.Trip;
import io.fermata.session.TestHost.Client;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A repeated call has no effect, even if other calls were handled while it was driven. */
@Tag("slow")
@Timeout(300)
class RepeatedCallsTest {
  @TempDir Path dir;

  private final CountDownLatch searched = new CountDownLatch(1);
  private final AtomicInteger searches = new AtomicInteger();
  private final List<String> runs = new CopyOnWriteArrayList<>();

  /** By how much the deadlines of calls are nearer than real time makes them. */
  private final AtomicLong skipped = new AtomicLong();

  @Test
  void aStartThatIsRepeatedUnderItsIdWithoutASessionBeginsOneRun() {
    try (TestHost host = new TestHost(Store.memory(), TestFlows.trip())) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "to travel");
      ObjectNode meta = Json.object().put("fermata/callId", "c1");
      ToolReply first = sent(host, "ann", start, meta);
      ToolReply again = sent(host, "ann", start, meta);
      assertThat(again.meta().at("/fermata~1run/runId")).isEqualTo(run(first));
      assertThat(again.structured()).isEqualTo(first.structured());
      assertThat(code(sent(host, "ann", start.deepCopy().put("intent", "to stay"), meta)))
          .isEqualTo("key_used");
      assertThat(run(sent(host, "bob", start, meta))).isNotEqualTo(run(first));
      assertThat(run(sent(host, "ann", start, Json.object()))).isNotEqualTo(run(first));
    }
  }

  private static JsonNode run(ToolReply reply) {
    return reply.meta().at("/fermata~1run/runId");
  }

  private static ToolReply sent(TestHost host, String by, ObjectNode arguments, ObjectNode meta) {
    ToolCall call = new ToolCall("trip", by, arguments.deepCopy(), meta.deepCopy(), null);
    return host.fermata().call(call).toCompletableFuture().join();
  }

  record Stay(@Describe("The hotel") String hotel, @Describe("Wishes") String wishes) {}

  private FlowBuilder<Stay> stay() {
    return Flow.of("stay", Stay.class)
        .description("Finds a hotel.")
        .act("begin", run -> runs.add(run.id()))
        .act(
            "search",
            run -> {
              searches.incrementAndGet();
              searched.await();
            });
  }

  /** Searches, and waits for a signal meanwhile. */
  private Flow<Stay> searching() {
    return stay()
        .act("plan", run -> {})
        .act("book", run -> {})
        .waitFor("await_hotel", "booked", "hotel")
        .fork("plan", f -> f.branch("search").branch("begin").join("book"))
        .edge(START, "plan")
        .edge("search", "book")
        .edge("begin", "await_hotel")
        .edge("await_hotel", "book")
        .edge("book", END)
        .result(s -> s)
        .compile();
  }

  /** Searches until a signal comes. */
  private Flow<Stay> searchingUntilBooked() {
    return stay()
        .waitFor("await_hotel", "booked", "hotel")
        .fork(START, f -> f.branch("search").branch("begin").first().join(END))
        .edge("search", END)
        .edge("begin", "await_hotel")
        .edge("await_hotel", END)
        .result(s -> s)
        .compile();
  }

  private TestHost host(Duration deadline, Flow<?> flow) {
    return new TestHost(
        Store.sqlite(dir.resolve("test.db")),
        s -> s.callDeadline(deadline),
        () -> System.nanoTime() + skipped.get(),
        flow);
  }

  private void skip(Duration time) {
    skipped.addAndGet(time.toNanos());
  }

  private Client conversation(TestHost host) {
    Client client = host.client("stay").callId("y");
    client.transport = "conversation";
    return client;
  }

  private ToolReply booked(TestHost host) {
    return got(bookedLater(host));
  }

  private CompletableFuture<ToolReply> bookedLater(TestHost host) {
    return host.fermata().signal("stay", runs.get(0), "booked", "Ritz", "s").toCompletableFuture();
  }

  @Test
  void aStartIsRememberedThoughASignalWasHandledBeforeItsDeadlinePassed() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(60), searching())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> runs.size() == 1);
      assertThat(code(booked(host))).isEqualTo("still_working");
      assertThat(start).isNotDone();
      skip(Duration.ofSeconds(60));
      assertThat(code(got(start))).isEqualTo("still_working");
      CompletableFuture<ToolReply> repeated = client.startLater();
      searched.countDown();
      assertThat(got(repeated).structured().at("/result/hotel").asText()).isEqualTo("Ritz");
      assertThat(client.start().structured()).isEqualTo(got(repeated).structured());
      assertThat(searches).hasValue(1);
      assertThat(runs).hasSize(1);
    }
  }

  @Test
  void aStartIsRememberedAcrossACrashAfterASignal() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(20), searching())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> lost = client.startLater();
      TestHost.eventually(() -> runs.size() == 1);
      assertThat(code(booked(host))).isEqualTo("still_working");
      host.crash();
      assertThat(code(got(lost))).isEqualTo("shutting_down");
      CompletableFuture<ToolReply> repeated = client.startLater();
      searched.countDown();
      assertThat(got(repeated).structured().at("/result/hotel").asText()).isEqualTo("Ritz");
      assertThat(runs).as("runs that were started").hasSize(1);
    }
  }

  @Test
  void aStartWhoseRunASignalEndsIsRemembered() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(20), searchingUntilBooked())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> runs.size() == 1);
      assertThat(status(booked(host))).isEqualTo("complete");
      assertThat(got(start).structured().at("/result/hotel").asText())
          .as("%s", got(start).structured())
          .isEqualTo("Ritz");
      assertThat(client.start().structured()).isEqualTo(got(start).structured());
      assertThat(searches).hasValue(1);
    }
  }

  /** Hears a wish, and waits for a signal. */
  private Flow<Stay> wishingAndWaiting() {
    return Flow.of("stay", Stay.class)
        .description("Waits for a hotel.")
        .act("begin", run -> runs.add(run.id()))
        .ask("ask", q -> q.question("wishes", "What else?"))
        .waitFor("await_hotel", "booked", "hotel")
        .edge(START, "begin")
        .edge("begin", "ask")
        .edge("ask", "await_hotel")
        .edge("await_hotel", END)
        .result(s -> s)
        .compile();
  }

  @Test
  void aSignalIsTakenByTheNextRunOfItsSessionUnderTheIdThatOneHadForAnEarlierRun() {
    try (TestHost host = host(Duration.ofSeconds(20), wishingAndWaiting())) {
      Client client = conversation(host);
      for (int i = 0; i < 2; i++) {
        client.callId("start " + i).start();
        client.callId("wish " + i).proceed("wishes", "none");
        ToolReply signalled = signal(host, runs.get(i), "Ritz", "paid");
        assertThat(signalled.meta().at("/fermata~1run/runId").asText()).isEqualTo(runs.get(i));
        assertThat(status(signalled)).isEqualTo("complete");
      }
      assertThat(runs).doesNotHaveDuplicates().hasSize(2);
      assertThat(code(signal(host, runs.get(0), "Ritz", "paid"))).isEqualTo("run_completed");
    }
  }

  @Test
  void aSignalIsTakenUnderAnIdThatAClientHasGivenToACall() {
    try (TestHost host = host(Duration.ofSeconds(20), wishingAndWaiting())) {
      Client client = conversation(host);
      client.start();
      client.callId("payment-4711").proceed("wishes", "none");
      ToolReply signalled = signal(host, "Ritz", "payment-4711");
      assertThat(status(signalled)).as("%s", signalled.structured()).isEqualTo("complete");
      assertThat(signal(host, "Ritz", "payment-4711").structured())
          .isEqualTo(signalled.structured());
      assertThat(code(signal(host, "Adlon", "payment-4711"))).isEqualTo("key_used");
    }
  }

  private ToolReply signal(TestHost host, Object payload, String id) {
    return signal(host, runs.get(0), payload, id);
  }

  private static ToolReply signal(TestHost host, String run, Object payload, String id) {
    return got(host.fermata().signal("stay", run, "booked", payload, id).toCompletableFuture());
  }

  @Test
  void anEarlySignalThatWasRefusedIsTakenOnceHoweverOftenItIsSentAgain() throws Exception {
    Flow<Stay> flow =
        stay()
            .ask("ask", q -> q.question("wishes", "What else?"))
            .waitFor("await_hotel", "booked", "hotel")
            .waitFor("await_wishes", "booked", "wishes")
            .edge(START, "begin")
            .edge("begin", "ask")
            .edge("ask", "search")
            .edge("search", "await_hotel")
            .edge("await_hotel", "await_wishes")
            .edge("await_wishes", END)
            .result(s -> s)
            .compile();
    searched.countDown();
    try (TestHost host = host(Duration.ofSeconds(20), flow)) {
      Client client = conversation(host);
      client.start();
      assertThat(code(signal(host, Map.of("name", "Ritz"), "one"))).isEqualTo("invalid_signal");
      for (int i = 0; i < 2; i++) {
        signal(host, "Ritz", "one");
        signal(host, "quiet", "two");
      }
      ToolReply end = client.callId("z").proceed("wishes", "none");
      assertThat(end.structured().at("/result").toString())
          .isEqualTo("{\"hotel\":\"Ritz\",\"wishes\":\"quiet\"}");
    }
  }

  @Test
  void aStartWhoseRunIsCancelledStartsNothingIfItIsRepeated() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(20), searching())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> runs.size() == 1);
      Client other = host.client("stay").callId("c");
      other.transport = "conversation";
      assertThat(other.cancel().structured().path("cancelled").asBoolean()).isTrue();
      assertThat(code(got(start))).isEqualTo("run_cancelled");
      assertThat(code(client.start())).isEqualTo("run_cancelled");
      assertThat(other.cancel().structured().path("cancelled").asBoolean()).isTrue();
      assertThat(searches).hasValue(1);
    }
  }

  @Test
  void aStartWhoseDeadlinePassesInAShortPauseStartsNothingIfItIsRepeated() throws Exception {
    Flow<Stay> sleeping =
        Flow.of("stay", Stay.class)
            .description("Sleeps.")
            .act("begin", run -> runs.add(run.id()))
            .act("search", run -> searches.incrementAndGet())
            .sleep("rest", Duration.ofMillis(1_900))
            .edge(START, "begin")
            .edge("begin", "search")
            .edge("search", "rest")
            .edge("rest", END)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), sleeping)) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> searches.get() == 1);
      Thread.sleep(400);
      skip(Duration.ofSeconds(60));
      assertThat(code(got(start))).isEqualTo("still_working");
      assertThat(status(client.start())).isEqualTo("complete");
      assertThat(runs).hasSize(1);
    }
  }

  @Test
  void aStartInAShortPauseThatNobodyWaitsForEndsTheRunThatPauses() throws Exception {
    Flow<Stay> sleeping =
        Flow.of("stay", Stay.class)
            .description("Sleeps.")
            .act("begin", run -> runs.add(run.id()))
            .act(
                "search",
                run -> {
                  searches.incrementAndGet();
                  searched.await();
                },
                EffectOptions::idempotent)
            .sleep("rest", Duration.ofMillis(1_900))
            .edge(START, "begin")
            .edge("begin", "search")
            .edge("search", "rest")
            .edge("rest", END)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), sleeping)) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> searches.get() == 1);
      skip(Duration.ofSeconds(60));
      assertThat(code(got(start))).isEqualTo("still_working");
      searched.countDown();
      Thread.sleep(700);
      CompletableFuture<ToolReply> other = client.callId("z").startLater();
      assertThat(status(got(other))).isEqualTo("complete");
      assertThat(code(client.callId("y").start())).as("the first").isEqualTo("run_completed");
      assertThat(runs).hasSize(2);
    }
  }

  @Test
  void aRepeatedStartOfARunWhoseVersionIsGoneStartsNothing() throws Exception {
    Flow<Stay> other =
        Flow.of("stay", Stay.class)
            .description("Another.")
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .edge(START, "ask_hotel")
            .edge("ask_hotel", END)
            .version(2)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(20), searching())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> lost = client.startLater();
      TestHost.eventually(() -> runs.size() == 1);
      host.crash(other);
      assertThat(code(got(lost))).isEqualTo("shutting_down");
      assertThat(code(client.start())).isEqualTo("version_changed");
      assertThat(code(client.start())).as("once more").isEqualTo("version_changed");
      assertThat(field(client.callId("z").start())).isEqualTo("hotel");
    }
  }

  @Test
  void aRepeatedSignalThatStillWorksIsNotTakenTwice() throws Exception {
    Flow<Stay> twice =
        stay()
            .waitFor("await_hotel", "booked", "hotel")
            .waitFor("await_again", "booked", "wishes")
            .edge(START, "begin")
            .edge("begin", "await_hotel")
            .edge("await_hotel", "search")
            .edge("search", "await_again")
            .edge("await_again", END)
            .result(s -> s)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), twice)) {
      Client client = conversation(host);
      assertThat(status(client.start())).isEqualTo("waiting");
      CompletableFuture<ToolReply> first = bookedLater(host);
      TestHost.eventually(() -> searches.get() == 1);
      skip(Duration.ofSeconds(60));
      assertThat(code(got(first))).isEqualTo("still_working");
      CompletableFuture<ToolReply> repeated = bookedLater(host);
      skip(Duration.ofSeconds(60));
      assertThat(code(got(repeated))).as("once more").isEqualTo("still_working");
      searched.countDown();
      TestHost.eventually(() -> status(booked(host)).equals("waiting"));
      assertThat(status(client.status())).isEqualTo("waiting");
    }
  }

  @Test
  void aLookThatSawAnOptionalQuestionDoesNotPassItIfItIsRepeated() throws Exception {
    Flow<Stay> optional =
        stay()
            .ask("ask_wishes", q -> q.question("wishes", "Any wishes?", o -> o.optional()))
            .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
            .edge(START, "begin")
            .edge("begin", "search")
            .edge("search", "ask_wishes")
            .edge("ask_wishes", "ask_hotel")
            .edge("ask_hotel", END)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), optional)) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> searches.get() == 1);
      skip(Duration.ofSeconds(60));
      assertThat(code(got(start))).isEqualTo("still_working");
      client.callId("look");
      CompletableFuture<ToolReply> look = client.proceedLater();
      searched.countDown();
      assertThat(field(got(look))).isEqualTo("wishes");
      assertThat(field(client.proceed())).as("the look, repeated").isEqualTo("wishes");
      assertThat(field(client.callId("skip").proceed())).isEqualTo("hotel");
      assertThat(field(client.callId("look").proceed())).isEqualTo("wishes");
    }
  }

  /** Asks, shows a widget that a call without values confirms, and asks again. */
  private Flow<Stay> confirmed() {
    return Flow.of("stay", Stay.class)
        .description("Books a hotel.")
        .ask("ask_hotel", q -> q.question("hotel", "Which hotel?"))
        .widget("confirm", w -> {})
        .act("book", run -> searches.incrementAndGet())
        .ask("ask_wishes", q -> q.question("wishes", "What else?"))
        .edge(START, "ask_hotel")
        .edge("ask_hotel", "confirm")
        .edge("confirm", "book")
        .edge("book", "ask_wishes")
        .edge("ask_wishes", END)
        .compile();
  }

  private static long seq(ToolReply reply) {
    return reply.meta().at("/fermata~1run/seq").asLong();
  }

  @Test
  void aLookThatRepeatedAQuestionGetsThatQuestionAgainAndPassesNoWidgetThatCameMeanwhile() {
    try (TestHost host = host(Duration.ofSeconds(60), confirmed())) {
      Client client = conversation(host);
      client.start();
      ToolReply look = client.callId("look").proceed();
      assertThat(field(look)).isEqualTo("hotel");
      host.crash();
      assertThat(status(client.callId("answer").proceed("hotel", "Ritz"))).isEqualTo("widget");

      ToolReply again = client.callId("look").proceed();
      assertThat(searches).as("bookings that nobody has confirmed").hasValue(0);
      assertThat(again.structured()).isEqualTo(look.structured());
      assertThat(again.meta().toString()).isEqualTo(look.meta().toString());
      assertThat(code(client.proceed("wishes", "none"))).isEqualTo("key_used");

      ToolReply confirmed = client.callId("confirm").proceed();
      assertThat(field(confirmed)).isEqualTo("wishes");
      assertThat(client.proceed().structured()).isEqualTo(confirmed.structured());
      assertThat(searches).hasValue(1);
    }
  }

  @Test
  void aLookIsWrittenOnceIfItIsNamedAndNotAtAllOtherwise() {
    try (TestHost host = host(Duration.ofSeconds(60), confirmed())) {
      Client client = conversation(host);
      long asked = seq(client.start());
      assertThat(seq(client.noMeta().proceed())).isEqualTo(asked);
      assertThat(seq(client.callId("status").status())).isEqualTo(asked);
      assertThat(seq(client.callId("look").proceed())).isEqualTo(asked + 1);
      assertThat(seq(client.proceed())).isEqualTo(asked + 1);
      assertThat(code(client.callId("wrong").proceed("hotel", 1))).isEqualTo("invalid_updates");
      assertThat(seq(client.noMeta().status())).isEqualTo(asked + 1);
    }
  }

  /** Searches, and shows a widget. */
  private Flow<Stay> searchedAndConfirmed() {
    return stay()
        .widget("confirm", w -> {})
        .ask("ask_wishes", q -> q.question("wishes", "What else?"))
        .edge(START, "begin")
        .edge("begin", "search")
        .edge("search", "confirm")
        .edge("confirm", "ask_wishes")
        .edge("ask_wishes", END)
        .compile();
  }

  /** A run whose search outlasts the call that started it. */
  private Client searching(TestHost host) throws Exception {
    Client client = conversation(host);
    int before = searches.get();
    CompletableFuture<ToolReply> start = client.noMeta().startLater();
    TestHost.eventually(() -> searches.get() == before + 1);
    skip(Duration.ofSeconds(60));
    assertThat(code(got(start))).isEqualTo("still_working");
    return client;
  }

  @Test
  void aLookThatJoinedWorkUntilItsDeadlinePassesNoWidgetThatAnotherCallHasSeen() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(60), searchedAndConfirmed())) {
      Client client = searching(host);
      CompletableFuture<ToolReply> look = client.callId("look").proceedLater();
      assertThat(code(client.status())).as("the look has joined").isEqualTo("still_working");
      skip(Duration.ofSeconds(60));
      assertThat(code(got(look))).isEqualTo("still_working");
      passesNothing("look", client);
    }
  }

  /** A call that was replied to before its work showed a widget, which another call sees. */
  private void passesNothing(String look, Client client) throws Exception {
    searched.countDown();
    TestHost.eventually(() -> status(client.status()).equals("widget"));
    assertThat(status(client.noMeta().proceed())).as("it is seen").isEqualTo("widget");

    assertThat(status(client.callId(look).proceed())).isEqualTo("widget");
    assertThat(status(client.proceed())).as("once more").isEqualTo("widget");
    assertThat(code(client.proceed("wishes", "none"))).isEqualTo("key_used");
    assertThat(field(client.noMeta().proceed())).isEqualTo("wishes");
  }

  @Test
  void aLookThatWaitedBehindACallUntilItsDeadlinePassesNoWidgetThatAnotherCallHasSeen()
      throws Exception {
    try (TestHost host = host(Duration.ofSeconds(60), searchedAndConfirmed())) {
      Client client = conversation(host);
      CompletableFuture<ToolReply> start = client.callId("start").startLater();
      TestHost.eventually(() -> searches.get() == 1);
      skip(Duration.ofSeconds(40));
      CompletableFuture<ToolReply> look = client.callId("look").proceedLater();
      assertThat(code(client.status())).as("the look waits").isEqualTo("still_working");
      skip(Duration.ofSeconds(20));
      assertThat(code(got(start))).isEqualTo("still_working");
      assertThat(look).isNotDone();
      skip(Duration.ofSeconds(40));
      assertThat(code(got(look))).isEqualTo("still_working");
      passesNothing("look", client);
      assertThat(status(client.callId("start").start())).isEqualTo("widget");
    }
  }

  @Test
  void aLookThatLeftATaskInAShortPausePassesNoWidgetThatAnotherCallHasSeen() throws Exception {
    Flow<Stay> resting =
        Flow.of("stay", Stay.class)
            .description("Rests, and shows a widget.")
            .sleep("rest", Duration.ofMillis(1_900))
            .widget("confirm", w -> {})
            .ask("ask_wishes", q -> q.question("wishes", "What else?"))
            .edge(START, "rest")
            .edge("rest", "confirm")
            .edge("confirm", "ask_wishes")
            .edge("ask_wishes", END)
            .longRunning()
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), resting)) {
      Client client = conversation(host);
      ObjectNode start = client.arguments("start").put("intent", "to rest");
      assertThat(leaving(host, "start", start).task()).isTrue();
      assertThat(code(leaving(host, "look", client.arguments("continue"))))
          .isEqualTo("still_working");
      passesNothing("look", client);
    }
  }

  /** A call that is replied to as soon as it is journaled, as that of a client with tasks. */
  private static ToolReply leaving(TestHost host, String callId, ObjectNode arguments) {
    ObjectNode meta = Json.object().put("fermata/callId", callId);
    ToolCall call = new ToolCall("stay", "local", arguments, meta, "conversation");
    return got(host.fermata().call(call.takingTask(true), progress -> {}).toCompletableFuture());
  }

  @Test
  void aLookWhoseWorkIsCancelledPassesNothingInTheNextRun() throws Exception {
    try (TestHost host = host(Duration.ofSeconds(60), searchedAndConfirmed())) {
      Client client = searching(host);
      CompletableFuture<ToolReply> look = client.callId("look").proceedLater();
      assertThat(code(client.status())).as("the look has joined").isEqualTo("still_working");
      client.noMeta().cancel();
      assertThat(code(got(look))).isEqualTo("run_cancelled");
      assertThat(code(client.callId("look").proceed())).isEqualTo("run_cancelled");

      searched.countDown();
      assertThat(status(client.noMeta().start())).isEqualTo("widget");
      assertThat(code(client.callId("look").proceed())).isEqualTo("stale_call");
      assertThat(field(client.noMeta().proceed())).isEqualTo("wishes");
    }
  }

  @Test
  void aCancelledCallWhoseDeadlinePassesDuringTheCompensationGetsStillWorking() throws Exception {
    CountDownLatch undoing = new CountDownLatch(1);
    CountDownLatch undone = new CountDownLatch(1);
    Flow<Stay> compensated =
        stay()
            .act("reserve", run -> {})
            .compensate(
                "reserve",
                run -> {
                  undoing.countDown();
                  undone.await();
                })
            .edge(START, "reserve")
            .edge("reserve", "begin")
            .edge("begin", "search")
            .edge("search", END)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), compensated)) {
      Client client = conversation(host).noMeta();
      CompletableFuture<ToolReply> start = client.startLater();
      TestHost.eventually(() -> searches.get() == 1);
      skip(Duration.ofSeconds(30));
      CompletableFuture<ToolReply> cancelled = client.cancelLater();
      assertThat(undoing.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(start).isNotDone();
      skip(Duration.ofSeconds(30));
      assertThat(code(got(start))).isEqualTo("still_working");
      assertThat(cancelled).isNotDone();
      undone.countDown();
      assertThat(got(cancelled).structured().path("cancelled").asBoolean()).isTrue();
    }
  }

  @Test
  void aCancellationThatIsRepeatedAfterTheCompensationHasCancelledTheRun() throws Exception {
    CountDownLatch undone = new CountDownLatch(1);
    Flow<Trip> compensated =
        Flow.of("trip", Trip.class)
            .description("Travels.")
            .act("book", run -> {})
            .compensate("book", run -> undone.await())
            .ask("ask_to", q -> q.question("to", "Where to?"))
            .edge(START, "book")
            .edge("book", "ask_to")
            .edge("ask_to", END)
            .compile();
    try (TestHost host = host(Duration.ofSeconds(60), compensated)) {
      Client client = host.client();
      client.start();
      CompletableFuture<ToolReply> cancelled = client.callId("leave").cancelLater();
      TestHost.eventually(() -> code(client.noMeta().status()).equals("still_working"));
      skip(Duration.ofSeconds(60));
      assertThat(code(got(cancelled))).isEqualTo("still_working");
      CompletableFuture<ToolReply> second = client.callId("leave too").cancelLater();
      TestHost.eventually(() -> code(client.noMeta().status()).equals("still_working"));
      undone.countDown();
      assertThat(got(second).structured().path("cancelled").asBoolean()).isTrue();
      TestHost.eventually(() -> code(client.noMeta().status()).equals("run_cancelled"));
      ToolReply again = client.callId("leave").cancel();
      assertThat(again.structured().path("cancelled").asBoolean()).isTrue();
      host.crash();
      assertThat(client.callId("leave").cancel()).isEqualTo(again);
      assertThat(code(client.callId("other").cancel())).isEqualTo("run_cancelled");
    }
  }

  @Test
  void aRunIsCancelledWhileItsFirstStepWorksUnjournaled() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    Flow<Trip> flow =
        Flow.of("trip", Trip.class)
            .description("Travels.")
            .act(
                "book",
                run -> {
                  begun.countDown();
                  Thread.sleep(60_000);
                },
                EffectOptions::idempotent)
            .edge(START, "book")
            .edge("book", END)
            .compile();
    try (TestHost host = new TestHost(Store.memory(), flow)) {
      Client client = host.client();
      client.transport = "conversation";
      CompletableFuture<ToolReply> start = client.startLater();
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(client.cancel().structured().path("cancelled").asBoolean()).isTrue();
      assertThat(code(got(start))).isEqualTo("run_cancelled");
    }
  }
}
