package io.fermata.session.telemetry;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.Compaction;
import io.fermata.agent.Handoff;
import io.fermata.agent.Prompt;
import io.fermata.agent.model.Model;
import io.fermata.flow.Flow;
import io.fermata.flow.ForEach;
import io.fermata.flow.action.Action;
import io.fermata.flow.action.EffectOptions;
import io.fermata.flow.action.StepException;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Computed;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.ScriptedModels;
import io.fermata.session.admin.Settings;
import io.fermata.session.call.ToolCall;
import io.fermata.session.call.ToolReply;
import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.api.baggage.Baggage;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What those hear of a host's work who time and count it. */
@Timeout(60)
@Tag("slow")
class TelemetryTest {
  record Order(String dish, @Computed String receipt) {}

  private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
  private static final String CALLER = "b7ad6b7169203331";

  private final InMemorySpanExporter exported = InMemorySpanExporter.create();
  private final OpenTelemetrySdk sdk =
      OpenTelemetrySdk.builder()
          .setTracerProvider(
              SdkTracerProvider.builder()
                  .addSpanProcessor(SimpleSpanProcessor.create(exported))
                  .build())
          .build();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private static Flow<Order> flow(Action<Order> pay) {
    return Flow.of("order", Order.class)
        .description("Orders food.")
        .ask("ask_dish", q -> q.question("dish", "Which dish?"))
        .act("pay", pay, effect -> effect.retry(2, Duration.ofMillis(1)))
        .edge(START, "ask_dish")
        .edge("ask_dish", "pay")
        .edge("pay", END)
        .result(Order::receipt)
        .compile();
  }

  private Fermata host(Store store, Flow<?> flow) {
    return Fermata.host()
        .store(store)
        .flow(flow)
        .telemetry(Spans.of(sdk))
        .telemetry(Meters.of(registry))
        .start();
  }

  private static ToolReply call(Fermata host, String traceparent, ObjectNode arguments)
      throws Exception {
    ObjectNode meta = Json.object().put("threadId", "t");
    if (!traceparent.isEmpty()) {
      meta.put("traceparent", traceparent).put("tracestate", "a=b").put("baggage", "tier=gold");
    }
    return host.call(new ToolCall("order", "ann", arguments, meta, null))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  private static ObjectNode start() {
    ObjectNode start = Json.object().put("action", "start").put("intent", "is hungry");
    start.putObject("stateUpdates").put("dish", "soup");
    return start;
  }

  /** Replies come before the last that their calls are timed for has ended. */
  private static void awaitThat(BooleanSupplier so) throws InterruptedException {
    while (!so.getAsBoolean()) {
      Thread.sleep(5);
    }
  }

  private SpanData span(String name) throws InterruptedException {
    return spans(name, 1).get(0);
  }

  private List<SpanData> spans(String name, int many) throws InterruptedException {
    awaitThat(() -> named(name).size() >= many);
    assertThat(named(name)).hasSize(many);
    return named(name);
  }

  private List<SpanData> named(String name) {
    return exported.getFinishedSpanItems().stream()
        .filter(it -> it.getName().equals(name))
        .toList();
  }

  private static String text(SpanData span, String attribute) {
    return span.getAttributes().get(AttributeKey.stringKey(attribute));
  }

  @Test
  void aCallContinuesTheTraceOfItsCallerAndItsEffectsAreWithinIt() throws Exception {
    try (Fermata host = host(Store.memory(), flow(run -> run.set("receipt", "paid")))) {
      ToolReply reply = call(host, "00-" + TRACE + "-" + CALLER + "-01", start());

      SpanData called = span("tools/call order");
      SpanData paid = span("order pay");
      assertThat(called.getTraceId()).isEqualTo(TRACE);
      assertThat(called.getParentSpanId()).isEqualTo(CALLER);
      assertThat(called.getSpanContext().getTraceState().get("a")).isEqualTo("b");
      assertThat(paid.getTraceId()).isEqualTo(TRACE);
      assertThat(paid.getParentSpanId()).isEqualTo(called.getSpanId());
      String run = reply.meta().at("/fermata~1run/runId").asText();
      for (SpanData each : List.of(called, paid)) {
        assertThat(text(each, "fermata.run")).isEqualTo(run);
        assertThat(text(each, "fermata.flow")).isEqualTo("order");
        assertThat(each.getAttributes().get(AttributeKey.longKey("fermata.version"))).isEqualTo(1);
      }
      assertThat(text(called, "fermata.status")).isEqualTo("complete");
      assertThat(text(paid, "fermata.node")).isEqualTo("pay");
      assertThat(text(paid, "fermata.status")).isEqualTo("ok");
      assertThat(paid.getAttributes().get(AttributeKey.longKey("fermata.attempt"))).isEqualTo(1);
    }
  }

  @Test
  void theStepsOfAnAgentAreWithinTheCallThatLedToThem() throws Exception {
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Good morning.")));
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(desk).telemetry(Spans.of(sdk)).start()) {
      ObjectNode send = Json.object().put("action", "send").put("message", "Good morning?");
      ObjectNode meta = Json.object().put("traceparent", "00-" + TRACE + "-" + CALLER + "-01");
      host.call(new ToolCall("desk", "ann", send, meta, null))
          .toCompletableFuture()
          .get(60, TimeUnit.SECONDS);

      SpanData called = span("tools/call desk");
      SpanData step = span("desk step");
      assertThat(step.getTraceId()).isEqualTo(TRACE);
      assertThat(step.getParentSpanId()).isEqualTo(called.getSpanId());
    }
  }

  private static void greet(Fermata host, String agent) throws Exception {
    ObjectNode send = Json.object().put("action", "send").put("message", "Good morning?");
    host.call(new ToolCall(agent, "ann", send, Json.object(), null))
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
  }

  @Test
  void aStepWhoseModelDoesNotAnswerHasFailed() throws Exception {
    Model silent =
        ScriptedModels.answering(
            messages -> {
              throw new IllegalStateException("away");
            });
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", silent.attempts(1)));
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .agent(desk)
            .telemetry(Spans.of(sdk))
            .telemetry(Meters.of(registry))
            .start()) {
      greet(host, "desk");

      assertThat(span("desk step").getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
      assertThat(registry.find("fermata.effects").tags("flow", "desk", "node", "step").timers())
          .singleElement()
          .satisfies(
              timer -> {
                assertThat(timer.getId().getTag("status")).isEqualTo("failed");
                assertThat(timer.count()).isEqualTo(1);
              });
    }
  }

  @Test
  void afterAHandoffRepliesAndEffectsAreThoseOfTheAgentThatActs() throws Exception {
    Model delegating = ScriptedModels.calling("billing", "{}", text -> text);
    Agent triage =
        Agent.aiHuman(
            "triage", Prompt.of("t", delegating).tools(Handoff.to("billing", "For bills.")));
    Agent billing = Agent.aiHuman("billing", Prompt.of("b", ScriptedModels.saying("It is paid.")));
    List<String> replied = new CopyOnWriteArrayList<>();
    List<String> stepped = new CopyOnWriteArrayList<>();
    Telemetry naming =
        new Telemetry() {
          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            if (meter == Meter.COST) {
              replied.add(tags.get(0));
            }
          }

          @Override
          public Activity performing(Effect effect) {
            if (effect.step().equals("step")) {
              stepped.add(effect.name());
            }
            return Activity.NONE;
          }
        };
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .agent(triage)
            .agent(billing)
            .telemetry(naming)
            .start()) {
      greet(host, "triage");

      assertThat(replied).containsExactly("triage", "billing");
      assertThat(stepped).containsExactly("triage", "billing");
    }
  }

  @Test
  void eachReplyOfAModelIsReportedOnceItIsJournaled() throws Exception {
    Agent desk = Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Good morning.")));
    List<String> replied = new CopyOnWriteArrayList<>();
    Telemetry counting =
        new Telemetry() {
          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            if (meter == Meter.COST) {
              replied.add(tags.get(0));
            }
          }
        };
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(desk).telemetry(counting).start()) {
      greet(host, "desk");

      assertThat(replied).containsExactly("desk");
    }
  }

  @Test
  void aModelThatSummarizesIsCountedAsAnyOther() throws Exception {
    Agent desk =
        Agent.aiHuman("desk", Prompt.of("p", ScriptedModels.saying("Good morning.")))
            .compaction(Compaction.by(ScriptedModels.saying("They greeted."), 2, 1));
    List<String> replied = new CopyOnWriteArrayList<>();
    Telemetry counting =
        new Telemetry() {
          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            if (meter == Meter.COST) {
              replied.add(tags.get(0));
            }
          }
        };
    try (Fermata host =
        Fermata.host().store(Store.memory()).agent(desk).telemetry(counting).start()) {
      ObjectNode send = Json.object().put("action", "send").put("message", "Good morning?");
      ObjectNode body = Json.object();
      for (int i = 0; i < 2; i++) {
        ToolReply reply =
            host.call(new ToolCall("desk", "ann", send.setAll(body), Json.object(), null))
                .toCompletableFuture()
                .get(60, TimeUnit.SECONDS);
        body.set("threadId", reply.structured().path("threadId"));
      }
      awaitThat(() -> replied.size() == 3);
    }
  }

  @Test
  void whatAHandlerBeginsIsWithinItsEffectAndItKnowsTheBaggage() throws Exception {
    AtomicReference<String> tier = new AtomicReference<>();
    Flow<Order> flow =
        flow(
            run -> {
              tier.set(Baggage.current().getEntryValue("tier"));
              sdk.getTracer("bank").spanBuilder("charge").startSpan().end();
              run.set("receipt", "paid");
            });
    try (Fermata host = host(Store.memory(), flow)) {
      call(host, "00-" + TRACE + "-" + CALLER + "-01", start());

      assertThat(span("charge").getParentSpanId()).isEqualTo(span("order pay").getSpanId());
      assertThat(tier.get()).isEqualTo("gold");
    }
  }

  @Test
  void aTraceparentThatIsNoneIsIgnored() throws Exception {
    try (Fermata host = host(Store.memory(), flow(run -> run.set("receipt", "paid")))) {
      for (String none : List.of("nonsense", "00-" + "0".repeat(32) + "-" + CALLER + "-01")) {
        ToolReply reply = call(host, none, start());
        assertThat(reply.structured().path("status").asText()).isEqualTo("complete");
      }

      for (SpanData called : spans("tools/call order", 2)) {
        assertThat(called.getParentSpanContext().isValid()).isFalse();
      }
      assertThat(spans("order pay", 2).stream().map(SpanData::getTraceId))
          .containsExactlyInAnyOrderElementsOf(
              named("tools/call order").stream().map(SpanData::getTraceId).toList());
    }
  }

  @Test
  @SuppressWarnings("try")
  void aCallWithinASpanOfTheApplicationBelongsToIt() throws Exception {
    try (Fermata host = host(Store.memory(), flow(run -> run.set("receipt", "paid")))) {
      Span mine = sdk.getTracer("app").spanBuilder("mine").startSpan();
      try (Scope here = mine.makeCurrent()) {
        call(host, "", start());
      } finally {
        mine.end();
      }

      assertThat(span("tools/call order").getParentSpanId())
          .isEqualTo(mine.getSpanContext().getSpanId());
    }
  }

  @Test
  void everyAttemptHasASpanAndAFailedOneSaysSo() throws Exception {
    AtomicInteger failures = new AtomicInteger(1);
    Flow<Order> flow =
        flow(
            run -> {
              if (failures.getAndDecrement() > 0) {
                throw new StepException("The bank of Ann is closed.");
              }
              run.set("receipt", "paid");
            });
    try (Fermata host = host(Store.memory(), flow)) {
      call(host, "", start());

      List<SpanData> paid = spans("order pay", 2);
      assertThat(paid.get(0).getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
      assertThat(paid.get(0).toString()).doesNotContain("bank of Ann");
      assertThat(paid.get(1).getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
      assertThat(paid.get(1).getAttributes().get(AttributeKey.longKey("fermata.attempt")))
          .isEqualTo(2);
      assertThat(paid.get(1).getParentSpanId()).isEqualTo(span("tools/call order").getSpanId());
    }
  }

  @Test
  @SuppressWarnings("try")
  void anEffectThatIsTakenUpAfterARestartHasItsRunInCommonWithWhatWasBefore(@TempDir Path directory)
      throws Exception {
    Store store = Store.sqlite(directory.resolve("test.db"));
    CountDownLatch begun = new CountDownLatch(1);
    Flow<Order> flow =
        flow(
            run -> {
              if (run.attempt() == 1) {
                begun.countDown();
                Thread.sleep(60_000);
              }
              run.set("receipt", "paid");
            });
    Fermata host = host(store, flow);
    host.call(new ToolCall("order", "ann", start(), Json.object().put("threadId", "t"), null));
    assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
    host.close(Duration.ofMillis(10));

    try (Fermata next = host(store, flow)) {
      List<SpanData> paid = spans("order pay", 2);
      assertThat(text(paid.get(0), "fermata.status")).isEqualTo("cancelled");
      assertThat(text(paid.get(1), "fermata.run")).isEqualTo(text(paid.get(0), "fermata.run"));
      assertThat(paid.get(1).getParentSpanContext().isValid()).isFalse();
    }
  }

  private double stopped(String code) {
    Counter stopped =
        registry.find("fermata.runs").tags("change", "stopped", "code", code).counter();
    return stopped == null ? 0 : stopped.count();
  }

  /** The next host finds it by itself, long after the call has its reply. */
  @Test
  void aRunThatStopsWithoutACallIsCountedByItsCode(@TempDir Path directory) throws Exception {
    Store store = Store.sqlite(directory.resolve("runs.db"));
    Flow<Order> once =
        Flow.of("order", Order.class)
            .description("Orders food.")
            .actAsync("pay", run -> new CompletableFuture<>(), EffectOptions::once)
            .edge(START, "pay")
            .edge("pay", END)
            .compile();
    Settings impatient = Settings.DEFAULT.callDeadline(Duration.ofMillis(100));
    try (Fermata host = Fermata.host().store(store).flow(once).settings(impatient).start()) {
      ObjectNode begin = Json.object().put("action", "start").put("intent", "is hungry");
      assertThat(call(host, "", begin).structured().path("code").asText())
          .isEqualTo("still_working");
      host.crash();
    }

    try (Fermata next = host(store, once)) {
      awaitThat(() -> stopped("outcome_unknown") == 1);
      assertThat(next.awake()).isNotNegative();
      assertThat(registry.find("fermata.calls").timers()).isEmpty();
    }
  }

  record Item(String name) {}

  record Basket(@Computed List<String> done) {}

  @Test
  void aFailedItemThatHoldsTheOthersStopsItsRunOnce() throws Exception {
    Flow<Item> item =
        Flow.of("item", Item.class)
            .description("Packs an item.")
            .actAsync(
                "pack",
                run ->
                    run.state().name().equals("item 0")
                        ? CompletableFuture.failedFuture(new StepException("It is broken."))
                        : new CompletableFuture<>())
            .edge(START, "pack")
            .edge("pack", END)
            .result(Item::name)
            .compile();
    Flow<Basket> basket =
        Flow.of("order", Basket.class)
            .description("Packs a basket.")
            .forEach(
                "each",
                item,
                (ForEach<Basket, String> o) ->
                    o.items(state -> IntStream.range(0, 12).mapToObj(i -> "item " + i).toList())
                        .input((state, name) -> Map.of("name", name))
                        .atMost(12)
                        .into("done")
                        .failFast())
            .edge(START, "each")
            .edge("each", END)
            .compile();
    try (Fermata host = host(Store.memory(), basket)) {
      ObjectNode begin = Json.object().put("action", "start").put("intent", "is hungry");
      assertThat(call(host, "", begin).structured().path("code").asText()).isEqualTo("step_failed");

      assertThat(
              registry.find("fermata.runs").tag("change", "stopped").counters().stream()
                  .mapToDouble(Counter::count)
                  .sum())
          .isEqualTo(1);
    }
  }

  @Test
  void aSessionThatIsDueAndCannotBeReadIsCountedByItsCode(@TempDir Path directory)
      throws Exception {
    Path file = directory.resolve("damaged.db");
    Flow<Order> flow =
        Flow.of("order", Order.class)
            .description("Orders food for tomorrow.")
            .ask("ask_dish", q -> q.question("dish", "Which dish?"))
            .sleep("wait", Duration.ofHours(12))
            .edge(START, "ask_dish")
            .edge("ask_dish", "wait")
            .edge("wait", END)
            .compile();
    try (Fermata host = host(Store.sqlite(file), flow)) {
      call(host, "", Json.object().put("action", "start").put("intent", "is hungry"));
      ObjectNode answer = Json.object().put("action", "continue");
      answer.putObject("stateUpdates").put("dish", "soup");
      call(host, "", answer);
    }
    try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement statement = connection.createStatement()) {
      String first = "delete from event_journal where sequence_number = 1";
      assertThat(statement.executeUpdate(first)).isEqualTo(1);
    }
    try (Fermata tomorrow =
        Fermata.host()
            .store(Store.sqlite(file))
            .flow(flow)
            .clock(InstantSource.offset(InstantSource.system(), Duration.ofDays(1)))
            .telemetry(Meters.of(registry))
            .start()) {
      assertThat(tomorrow.tools()).isNotEmpty();
      awaitThat(
          () ->
              registry.find("fermata.sessions.unreadable").tag("code", "damaged").counter()
                  != null);
    }
  }

  @Test
  void callsRunsEffectsAndAppendsAreCountedByNamesThatAreFew() throws Exception {
    try (Fermata host = host(Store.memory(), flow(run -> run.set("receipt", "paid")))) {
      ObjectNode begin = Json.object().put("action", "start").put("intent", "is hungry");
      call(host, "", begin);
      call(host, "", Json.object().put("action", "dance"));
      ObjectNode dish = Json.object().put("action", "continue");
      dish.putObject("stateUpdates").put("dish", "soup");
      call(host, "", dish);

      awaitThat(() -> registry.find("fermata.calls").timers().size() >= 3);
      assertThat(calls("status", "interrupt")).isEqualTo(1);
      assertThat(calls("status", "complete")).isEqualTo(1);
      assertThat(calls("code", "invalid_arguments")).isEqualTo(1);
      for (String change : List.of("begun", "paused", "completed")) {
        assertThat(registry.get("fermata.runs").tag("change", change).counter().count())
            .as(change)
            .isEqualTo(1);
      }
      assertThat(
              registry
                  .get("fermata.effects")
                  .tags("flow", "order", "node", "pay", "status", "ok")
                  .timer()
                  .count())
          .isEqualTo(1);
      assertThat(registry.get("fermata.journal.append").timer().count()).isPositive();
      assertThat(registry.get("fermata.journal.entries").summary().totalAmount()).isPositive();
      assertThat(registry.get("fermata.sessions.wake").timer().count()).isPositive();
      awaitThat(() -> registry.get("fermata.calls.waiting").gauge().value() == 0);
      assertThat(registry.get("fermata.sessions.waking").gauge().value()).isZero();
      assertThat(registry.getMetersAsString()).doesNotContain("ann", "soup");
    }
    assertThat(registry.find("fermata.sessions.awake").gauge()).isNull();
  }

  @Test
  void aCallThatOnlyBeginsARunIsNoErrorWhileTheRunWorks() throws Exception {
    Flow<Order> slow =
        Flow.of("order", Order.class)
            .description("Orders food.")
            .longRunning()
            .actAsync("pay", run -> new CompletableFuture<>())
            .edge(START, "pay")
            .edge("pay", END)
            .compile();
    try (Fermata host = host(Store.memory(), slow)) {
      ObjectNode begin = Json.object().put("action", "start").put("intent", "is hungry");
      ToolCall call = new ToolCall("order", "ann", begin, Json.object(), "conversation");
      assertThat(host.call(call.takingTask(true), progress -> {}).toCompletableFuture().join())
          .matches(ToolReply::task);

      awaitThat(() -> registry.find("fermata.calls").tag("status", "working").timer() != null);
      assertThat(registry.find("fermata.calls").tag("code", "still_working").timer()).isNull();
      host.crash();
    }
  }

  private long calls(String tag, String value) {
    return registry.get("fermata.calls").tags("tool", "order", tag, value).timer().count();
  }

  @Test
  void theConnectionsOfAStoreAreGaugesWhileItsHostRuns(@TempDir Path directory) throws Exception {
    Store store = Store.sqlite(directory.resolve("test.db"));
    try (Fermata host = host(store, flow(run -> run.set("receipt", "paid")))) {
      call(host, "", start());

      awaitThat(() -> connections("write", "idle") == 1 && connections("write", "used") == 0);
      for (String pool : List.of("write", "wake", "upkeep", "read", "search")) {
        // One that is given back in between is in neither.
        awaitThat(() -> connections(pool, "idle") + connections(pool, "used") > 0);
        awaitThat(
            () -> registry.get("fermata.store.waiting").tag("pool", pool).gauge().value() == 0);
      }
    }
    assertThat(registry.find("fermata.store.connections").gauges()).isEmpty();
    assertThat(registry.find("fermata.store.waiting").gauges()).isEmpty();
  }

  private double connections(String pool, String state) {
    return registry
        .get("fermata.store.connections")
        .tags("pool", pool, "state", state)
        .gauge()
        .value();
  }

  /** One whose work began well. */
  private static Telemetry grumbling() {
    return new Telemetry() {
      @Override
      public Activity called(Call call) {
        return new Activity() {
          @Override
          public TraceContext context() {
            throw new AssertionError("context");
          }
        };
      }

      @Override
      public Activity performing(Effect effect) {
        return new Activity() {
          @Override
          public Entered enter() {
            return () -> {
              throw new AssertionError("close");
            };
          }
        };
      }
    };
  }

  @Test
  void aTelemetryThatThrowsDisturbsNothing() throws Exception {
    Telemetry broken =
        new Telemetry() {
          @Override
          public Activity called(Call call) {
            throw new IllegalStateException("called");
          }

          @Override
          public Activity performing(Effect effect) {
            return new Activity() {
              @Override
              public Entered enter() {
                throw new IllegalStateException("enter");
              }

              @Override
              public void end(End end) {
                throw new IllegalStateException("end");
              }
            };
          }

          @Override
          public void measured(Meter meter, double value, List<String> tags) {
            throw new IllegalStateException("measured");
          }

          @Override
          public void opened(List<Gauge> gauges) {
            throw new IllegalStateException("opened");
          }
        };
    try (Fermata host =
        Fermata.host()
            .store(Store.memory())
            .flow(flow(run -> run.set("receipt", "paid")))
            .telemetry(broken)
            .telemetry(grumbling())
            .telemetry(Meters.of(registry))
            .start()) {
      ToolReply reply = call(host, "", start());

      assertThat(reply.structured().path("result").asText()).isEqualTo("paid");
      awaitThat(() -> registry.find("fermata.calls").timer() != null);
    }
  }
}
