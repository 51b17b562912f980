package io.fermata.testkit;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.POJONode;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.response.ChatResponse;
import io.fermata.agent.Agent;
import io.fermata.agent.Prompt;
import io.fermata.agent.message.Message;
import io.fermata.agent.message.MessageDelta;
import io.fermata.agent.model.Model;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.Run;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.replay.RunJournal;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.admin.Retention;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.journal.Entry;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.fermata.testkit.FaultyStore.Fault;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.DoubleSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.pekko.serialization.SerializationExtension;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A session whose store fails, stalls and comes back: effects and their results outlive it. */
@Tag("slow")
@Timeout(300)
final class FaultyStoreTest {
  private static final int RUNS = 60;

  record Trip(String from, String to, @Computed Integer price) {}

  private static final String AWAY = "store_unavailable";

  private final List<Integer> ran = new CopyOnWriteArrayList<>();

  /** Asks where from, books once, and asks where to. */
  private Flow<Trip> trip() {
    return Flow.of("trip", Trip.class)
        .description("Books a trip.")
        .ask("ask_from", q -> q.question("from", "Where from?"))
        .act(
            "book",
            run -> {
              ran.add(run.attempt());
              run.set("price", 3);
            },
            EffectOptions::once)
        .ask("ask_to", q -> q.question("to", "Where to?"))
        .edge(START, "ask_from")
        .edge("ask_from", "book")
        .edge("book", "ask_to")
        .edge("ask_to", END)
        .result(state -> state)
        .compile();
  }

  private static Flow<Trip> retried() {
    return Flow.of("retried", Trip.class)
        .description("Books a trip.")
        .act(
            "book",
            run -> run.set("price", run.attempt()),
            o -> o.retry(3, Duration.ofMillis(10)).timeout(Duration.ofSeconds(2)))
        .ask("ask_to", q -> q.question("to", "Where to?"))
        .edge(START, "book")
        .edge("book", "ask_to")
        .edge("ask_to", END)
        .compile();
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void aStepThatMayRunOnlyOnceRunsAfterTheEntryBeforeItFailed(Fault fault) {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").asks("from");
      probe.store().failNextWrite(fault);
      probe.answer("from", "Ulm").fails(AWAY).repeat().asks("to");
      assertThat(ran).containsExactly(1);
      probe.answer("to", "Rome").completesWith("price", 3);
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void theResultOfAStepIsJournaledAfterItsEntryFailed(Fault fault) {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.instead(
          "book",
          effect -> {
            ran.add(effect.attempt());
            probe.store().failNextWrite(fault);
            return new Object[] {"price", 3};
          });
      probe.start("wants to travel").answer("from", "Ulm").fails(AWAY).repeat().asks("to");
      assertThat(ran).containsExactly(1);
    }
  }

  @Test
  void aCallWhoseReplyTheStoreLostIsRepeatedUnderItsName() {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel", "from", "Ulm").asks("to");
      probe.loseNextReply().answer("to", "Rome").fails(AWAY);
      probe.repeat().completesWith("to", "Rome");
    }
  }

  @Test
  void whatWasWrittenAlthoughItsReplyWasLostIsListedCountedAndRecorded() throws Exception {
    List<String> recorded = new CopyOnWriteArrayList<>();
    Recorder recorder =
        new Recorder() {
          @Override
          public void onRunStart(Occurrence at, Observation.RunStart event) {
            recorded.add("start");
          }

          @Override
          public void onAnswer(Occurrence at, Observation.Answer event) {
            recorded.add("answer");
          }

          @Override
          public void onRunEnd(Occurrence at, Observation.RunEnd event) {
            recorded.add("end");
          }
        };
    try (SessionProbe probe =
        SessionProbe.of(
            trip(),
            Store.memory(),
            host ->
                host.recorder(recorder)
                    .retention(Retention.ofJournals(Duration.ofDays(1)))
                    .settings(chosen -> chosen.unfinishedRuns(1)))) {
      probe.start("wants to travel", "from", "Ulm").asks("to");
      probe.loseNextReply().answer("to", "Rome").fails(AWAY).repeat().completesWith("to", "Rome");
      await(
          () ->
              probe.host().runs().list(RunQuery.ALL).toCompletableFuture().join().runs().stream()
                  .allMatch(run -> run.status() == RunInfo.Status.COMPLETED));
      await(() -> recorded.contains("end"));
      assertThat(recorded)
          .as("each entry once")
          .containsExactly("start", "answer", "answer", "end");
      probe.start("wants to travel on", "from", "Bonn").asks("to");
    }
  }

  @Test
  void aFollowerGetsTheLastEventsOfAThreadAlthoughTheReplyToTheirWriteWasLost() throws Exception {
    FaultyStore store = FaultyStore.of(Store.memory());
    ChatModel model =
        new ChatModel() {
          @Override
          public ChatResponse doChat(ChatRequest request) {
            store.failNextWrite(Fault.REPLY_LOST);
            return ChatResponse.builder().aiMessage(AiMessage.from("Heard.")).build();
          }
        };
    Agent desk = Agent.aiHuman("desk", Prompt.of("desk", Model.of("scripted", model)));
    List<ThreadEvent> followed = new CopyOnWriteArrayList<>();
    try (Fermata host = Fermata.host().store(store.store()).agent(desk).start()) {
      Threads threads = host.threads();
      String id =
          now(threads.create(
                  new Threads.NewThread("ann", "desk", null, Set.of(), Map.of(), List.of())))
              .threadId();
      now(threads.follow("ann", id, 0, -1, listener(followed))).request(100);
      now(threads.post("ann", id, new Threads.NewMessage(Message.user("Hi"), List.of(), null)));
      await(() -> followed.stream().anyMatch(ThreadEvent.StepEnded.class::isInstance));
      assertThat(followed).filteredOn(ThreadEvent.StepEnded.class::isInstance).hasSize(1);
    }
  }

  @Test
  void workThatBeginsWhileItsSessionIsToSleepIsResumedWhenTheReplyToItsWriteIsLost()
      throws Exception {
    FaultyStore store = FaultyStore.of(Store.memory());
    Flow<Trip> flow =
        Flow.of("trip", Trip.class)
            .description("Books a trip.")
            .ask("ask_from", q -> q.question("from", "Where from?"))
            .computes(
                "plan",
                "price",
                trip -> {
                  if ("Bonn".equals(trip.from())) {
                    store.failNextWrite(Fault.REPLY_LOST);
                  }
                  return 3;
                })
            .act("book", run -> ran.add(run.attempt()), EffectOptions::once)
            .ask("ask_to", q -> q.question("to", "Where to?"))
            .edge(START, "ask_from")
            .edge("ask_from", "plan")
            .edge("plan", "book")
            .edge("book", "ask_to")
            .edge("ask_to", END)
            .compile();
    try (Fermata host = Fermata.host().store(store.store()).flow(flow).start()) {
      now(called(host, "start", "from", "Ulm"));
      store.holdWrites();
      called(host, "continue", "to", "Rome");
      CompletionStage<ToolReply> begun = called(host, "start", "from", "Bonn");
      store.releaseWrites();
      assertThat(now(begun).structured().path("code").asText()).isEqualTo(AWAY);
      await(() -> ran.size() == 2);
    }
  }

  private static CompletionStage<ToolReply> called(
      Fermata host, String action, String field, String answer) {
    ObjectNode arguments = Json.object().put("action", action).put("intent", "to travel on");
    arguments.putObject("stateUpdates").put(field, answer);
    ObjectNode meta = Json.object().put("fermata/sessionId", "s");
    return host.call(new ToolCall("trip", "ann", arguments, meta, null));
  }

  private static <T> T now(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private static Threads.Listener listener(List<ThreadEvent> into) {
    return new Threads.Listener() {
      @Override
      public void happened(long offset, int index, long at, ThreadEvent event) {
        into.add(event);
      }

      @Override
      public void streamed(MessageDelta delta) {}

      @Override
      public void ended(@Nullable Throwable why) {}
    };
  }

  @Test
  void theNamedFaultsFailTheNextCall() {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").asks("from");
      probe.failNextWrite().answer("from", "Ulm").fails(AWAY);
      probe.rejectNextWrite().answer("from", "Ulm").fails(AWAY);
      probe.answer("from", "Ulm").asks("to").stateHas("price", 3);
    }
  }

  @Test
  void aCallGetsNoReplyWhileTheStoreStalls() {
    try (SessionProbe probe = SessionProbe.of(trip()).manualTime()) {
      probe.start("wants to travel").asks("from");
      probe.holdWrites().answer("from", "Ulm").fails(AWAY);
      assertThat(ran).as("nothing ran before its entry is stored").isEmpty();
      probe.releaseWrites().again().asks("to");
      assertThat(ran).containsExactly(1);
    }
  }

  @Test
  void writesOfTwoSessionsThatWereHeldAreStoredInTheOrderInWhichTheyCame() {
    FaultyStore store = FaultyStore.of(Store.memory());
    List<String> stored = new CopyOnWriteArrayList<>();
    store.holdWrites();
    List<CompletionStage<?>> writes =
        Stream.of("trip|first", "trip|second", "trip|third")
            .<CompletionStage<?>>map(
                session ->
                    store.append(
                        store.life(),
                        session,
                        List.of(),
                        () -> {
                          stored.add(session);
                          return CompletableFuture.completedFuture(null);
                        }))
            .toList();
    assertThat(stored).isEmpty();
    store.releaseWrites();
    writes.forEach(FaultyStoreTest::now);
    assertThat(stored).containsExactly("trip|first", "trip|second", "trip|third");
  }

  record Heard(@Computed String word) {}

  @Test
  void aSignalIsNotOvertakenByOneThatComesWhileWhatItFollowsIsBeingStored() throws Exception {
    CompletableFuture<String> compares = new CompletableFuture<>();
    CountDownLatch compared = new CountDownLatch(1);
    Flow<Heard> flow =
        Flow.of("heard", Heard.class)
            .description("Waits for a word.")
            .act("begin", run -> {}, EffectOptions::idempotent)
            .waitFor("await_word", "word", "word")
            .act("search", run -> {}, EffectOptions::idempotent)
            .act(
                "compare",
                run -> {
                  compares.complete(run.id());
                  compared.await();
                },
                EffectOptions::idempotent)
            .act("done", run -> {}, EffectOptions::idempotent)
            .fork("begin", f -> f.branch("await_word").branch("search").join("done"))
            .edge(START, "begin")
            .edge("await_word", "done")
            .edge("search", "compare")
            .edge("compare", "done")
            .edge("done", END)
            .result(state -> state)
            .compile();
    try (SessionProbe probe = SessionProbe.of(flow)) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "listens");
      CompletionStage<ToolReply> started =
          probe.host().call(new ToolCall("heard", "ann", start, Json.object(), null));
      String run = compares.get(30, TimeUnit.SECONDS);
      probe.holdWrites();
      List<CompletableFuture<ToolReply>> signals =
          Stream.of("first", "second")
              .map(word -> probe.host().signal("heard", run, "word", word, word))
              .map(CompletionStage::toCompletableFuture)
              .toList();
      probe.releaseWrites();
      for (CompletableFuture<ToolReply> signal : signals) {
        signal.get(30, TimeUnit.SECONDS);
      }
      compared.countDown();
      ToolReply end = started.toCompletableFuture().get(30, TimeUnit.SECONDS);
      assertThat(end.structured().at("/result/word").asText()).isEqualTo("first");
    }
  }

  @Test
  void aRunCompletesWhoseStepStreamsMuchWhileTheEntryOfAnotherBranchIsBeingStored()
      throws Exception {
    CompletableFuture<Run<Heard>> searches = new CompletableFuture<>();
    CompletableFuture<Void> searched = new CompletableFuture<>();
    Flow<Heard> flow =
        Flow.of("heard", Heard.class)
            .description("Waits for a word.")
            .act("begin", run -> {}, EffectOptions::idempotent)
            .waitFor("await_word", "word", "word")
            .actAsync(
                "search",
                run -> {
                  searches.complete(run);
                  return searched;
                })
            .act("done", run -> {}, EffectOptions::idempotent)
            .fork("begin", f -> f.branch("await_word").branch("search").join("done"))
            .edge(START, "begin")
            .edge("await_word", "done")
            .edge("search", "done")
            .edge("done", END)
            .result(state -> state)
            .compile();
    List<String> pieces = IntStream.range(0, 5_000).mapToObj(i -> i + " ").toList();
    Queue<String> got = new ConcurrentLinkedQueue<>();
    try (SessionProbe probe = SessionProbe.of(flow)) {
      ObjectNode start = Json.object().put("action", "start").put("intent", "listens");
      CompletionStage<ToolReply> started =
          probe
              .host()
              .call(
                  new ToolCall("heard", "ann", start, Json.object(), null),
                  progress -> got.add(progress.piece()));
      Run<Heard> searching = searches.get(30, TimeUnit.SECONDS);
      probe.holdWrites();
      CompletableFuture<ToolReply> signalled =
          probe
              .host()
              .signal("heard", searching.id(), "word", "first", "first")
              .toCompletableFuture();
      await(() -> probe.store().holdsEntry());
      pieces.forEach(searching::stream);
      searched.complete(null);
      probe.releaseWrites();
      signalled.get(30, TimeUnit.SECONDS);
      ToolReply end = started.toCompletableFuture().get(30, TimeUnit.SECONDS);
      assertThat(end.structured().at("/result/word").asText()).isEqualTo("first");
      assertThat(String.join("", got)).isEqualTo(String.join("", pieces));
    }
  }

  @Test
  @Tag("faults")
  void aKilledHostWritesNothingOfWhatWasHeld() {
    try (SessionProbe probe = SessionProbe.of(trip()).manualTime()) {
      probe.start("wants to travel").asks("from");
      probe.holdWrites().answer("from", "Ulm").fails(AWAY);
      probe.crash().releaseWrites().again().asks("from");
      probe.restart().again().asks("from").stateHas("from", null);
    }
  }

  @Test
  @Tag("faults")
  void aSessionContinuesWhenTheStoreCanBeReachedAgain() {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").asks("from");
      probe.disconnect().answer("from", "Ulm").fails(AWAY).again().fails(AWAY);
      probe.reconnect().answer("from", "Ulm").asks("to");
      probe.crash().again().asks("to");
    }
  }

  @Test
  void anOutageIsLoggedInALineForEachSession() {
    Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    root.addAppender(log);
    Level usual = root.getLevel();
    root.setLevel(Level.WARN);
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").asks("from");
      probe.crash().disconnect().answer("from", "Ulm").fails(AWAY);
      List<ILoggingEvent> retried =
          List.copyOf(log.list).stream()
              .filter(event -> event.getFormattedMessage().contains("is retried"))
              .toList();
      assertThat(retried).isNotEmpty();
      assertThat(retried)
          .allSatisfy(
              event -> {
                assertThat(event.getFormattedMessage()).contains("the store does not answer");
                assertThat(event.getThrowableProxy()).isNull();
              });
      probe.reconnect().answer("from", "Ulm").asks("to");
    } finally {
      root.setLevel(usual);
      root.detachAppender(log);
    }
  }

  @Test
  @Tag("faults")
  void howLongUnfinishedWorkWaitsShowsWhileItCannotBeRead() throws Exception {
    CompletableFuture<List<Telemetry.Gauge>> opened = new CompletableFuture<>();
    Telemetry telemetry =
        new Telemetry() {
          @Override
          public void opened(List<Gauge> gauges) {
            opened.complete(gauges);
          }
        };
    FaultyStore store = FaultyStore.of(Store.memory());
    store.disconnect();
    try (Fermata host =
        Fermata.host().store(store.store()).flow(trip()).telemetry(telemetry).start()) {
      assertThat(host.tools()).isNotEmpty();
      DoubleSupplier unfinished = lag(opened.get(), "unfinished");
      DoubleSupplier timers = lag(opened.get(), "timers");
      await(() -> unfinished.getAsDouble() > 1000);
      await(() -> timers.getAsDouble() > 1000);
      store.reconnect();
      await(() -> unfinished.getAsDouble() == 0 && timers.getAsDouble() == 0);
    }
  }

  private static DoubleSupplier lag(List<Telemetry.Gauge> gauges, String work) {
    return gauges.stream()
        .filter(gauge -> gauge.meter() == Meter.LAG && gauge.tags().equals(List.of(work)))
        .findFirst()
        .orElseThrow()
        .value();
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(20);
    }
  }

  record Order(
      String item,
      String city,
      @Computed Integer charged,
      @Computed Integer packed,
      @Computed Integer weighed,
      @Computed Integer sent) {}

  /** Effects of every kind, one after another and beside each other. */
  private static Flow<Order> order(Map<String, Integer> counts) {
    return Flow.of("order", Order.class)
        .description("Orders.")
        .ask("ask_item", q -> q.question("item", "What?"))
        .act("charge", counted(counts, "charged"), EffectOptions::once)
        .act("pack", counted(counts, "packed"))
        .fork("pack", f -> f.branch("weigh").branch("send").join("ask_city"))
        .act("weigh", counted(counts, "weighed"), EffectOptions::once)
        .act("send", counted(counts, "sent"))
        .ask("ask_city", q -> q.question("city", "Where?"))
        .edge(START, "ask_item")
        .edge("ask_item", "charge")
        .edge("charge", "pack")
        .edge("weigh", "ask_city")
        .edge("send", "ask_city")
        .edge("ask_city", END)
        .compile();
  }

  private static Action<Order> counted(Map<String, Integer> counts, String field) {
    return run -> {
      counts.merge(run.idempotencyKey(), 1, Integer::sum);
      Thread.sleep(2);
      run.set(field, 1);
    };
  }

  @ParameterizedTest
  @Tag("faults")
  @ValueSource(longs = {1, 2, 3})
  void noEffectRunsTwiceAndNoOutcomeIsUnknownWhileTheHostLives(long seed) {
    Map<String, Integer> counts = new ConcurrentHashMap<>();
    Flow<Order> order = order(counts);
    List<CompletableFuture<Void>> ends =
        IntStream.range(0, RUNS / 20)
            .mapToObj(
                part ->
                    CompletableFuture.runAsync(
                        () -> {
                          try (SessionProbe probe = SessionProbe.of(order)) {
                            probe.store().failAtRandom(new Random(seed + part), 0.1);
                            IntStream.range(0, 20).forEach(i -> ordered(probe));
                          }
                        }))
            .toList();
    ends.forEach(CompletableFuture::join);
    assertThat(counts).hasSize(4 * RUNS);
    assertThat(counts.values()).as("how often each effect ran").containsOnly(1);
  }

  /** A client that repeats each call under its name until the store has it. */
  private static void ordered(SessionProbe probe) {
    stored(probe.start("to test"));
    stored(probe.answer("item", "book"));
    stored(probe.answer("city", "Ulm")).completes();
  }

  private static SessionProbe stored(SessionProbe called) {
    while (called.reply().structured().path("code").asText().equals(AWAY)) {
      called.repeat();
    }
    return called;
  }

  @Test
  void aTestSeesEveryEffectThatIsAskedForAndDecidesItsResult() {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.instead("book", "price", 70);
      probe.start("wants to travel", "from", "Ulm").stateHas("price", 70);
      assertThat(probe.effects()).hasSize(1);
      AskedEffect asked = probe.effects().get(0);
      assertThat(asked.node()).isEqualTo("book");
      assertThat(asked.kind()).isEqualTo(StepEffect.Kind.ACT);
      assertThat(asked.key()).endsWith("/book#1");
      assertThat(asked.input()).isEqualTo(Json.object().put("from", "Ulm"));
      assertThat(ran).isEmpty();
    }
  }

  @Test
  void anAttemptThatTookEffectAndWasLostWithItsHostIsRepeated() {
    Flow<Trip> again = retried();
    try (SessionProbe probe = SessionProbe.of(again).crashAt("book", 1)) {
      probe.start("wants to travel", "from", "Ulm").asks("to").stateHas("price", 2);
      assertThat(probe.effects()).extracting(AskedEffect::attempt).containsExactly(1, 2);
    }
  }

  @Test
  void aPlannedFailureAndAnAttemptThatHangsAreRetried() {
    Flow<Trip> again = retried();
    try (SessionProbe probe = SessionProbe.of(again).manualTime()) {
      probe.failAt("book", 1).hangAt("book", 2);
      probe.start("wants to travel", "from", "Ulm").asks("to").stateHas("price", 3);
    }
  }

  @Test
  void aShareOfWritesIsFromNoneToAllOfThem() {
    FaultyStore faulty = FaultyStore.of(Store.memory());
    for (double share : new double[] {-0.1, 1.1, Double.NaN}) {
      assertThatThrownBy(() -> faulty.failAtRandom(new Random(1), share))
          .hasMessage("A share is from 0 to 1, not " + share);
    }
  }

  @Test
  void aRecordedRunIsContinuedOnTheRealActor() {
    RunJournal recorded = FlowProbe.of(trip()).start("wants to travel").recorded();
    try (SessionProbe probe = SessionProbe.from(trip(), recorded)) {
      probe.again().asks("from").answer("from", "Ulm").asks("to");
      probe.crash().answer("to", "Rome").completesWith("price", 3);
    }
    RunJournal ended =
        FlowProbe.of(trip()).start("wants to travel", "from", "Ulm", "to", "Rome").recorded();
    assertThatThrownBy(() -> SessionProbe.from(trip(), ended))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("has ended and cannot be continued")
        .hasMessageContaining("journal.upTo(seq)");
  }

  @Test
  void aRunWhoseStepWasRunningWhenItWasRecordedContinuesByItself() {
    RunJournal recorded =
        FlowProbe.of(trip()).manualTime().hangAt("book", 1).start("w", "from", "Ulm").recorded();
    try (SessionProbe probe = SessionProbe.from(trip(), recorded)) {
      probe.again().fails("outcome_unknown");
      probe.whenUnknown(Input.Resolution.RETRY).again().asks("to");
    }
  }

  @Test
  void anEntryThatWouldBeReadDifferentlyFailsTheTest() {
    Event odd = new Event.Answered(Map.of("from", new POJONode(Map.of("a", 1))), null, 1);
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").asks("from");
      SerializationExtension.get(probe.host().system())
          .serialize(Entry.of(1, 0, Entry.Origin.HOST, List.of(odd)))
          .get();
      assertThatThrownBy(() -> probe.answer("from", "Ulm"))
          .isInstanceOf(AssertionError.class)
          .hasMessageContaining("Expected everything to be read as it was written.")
          .hasMessageContaining("A journal would not store");
    }
  }

  @Test
  void manualTimeIsChosenBeforeTheHostStarts() {
    try (SessionProbe probe = SessionProbe.of(trip())) {
      probe.start("wants to travel").passTime(Duration.ofMinutes(1));
      assertThatThrownBy(probe::manualTime)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("before the first call");
    }
  }
}
