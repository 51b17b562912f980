package io.fermata.session.telemetry;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static io.fermata.flow.route.Condition.gt;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Flow;
import io.fermata.flow.World;
import io.fermata.flow.action.StepException;
import io.fermata.flow.engine.FlowProgram;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Input;
import io.fermata.flow.event.Program;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.StepEffect;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Limits;
import io.fermata.flow.observe.AttachedRecorder;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Redaction;
import io.fermata.flow.record.RunObserver;
import io.fermata.flow.schema.Computed;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.EventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What an OpenTelemetry backend sees of a run. */
class SpanRecorderTest {
  record Order(Integer seats, String card, @Computed String receipt) {}

  private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
  private final Tracer tracer =
      SdkTracerProvider.builder()
          .addSpanProcessor(SimpleSpanProcessor.create(exporter))
          .build()
          .get("test");
  private final SpanRecorder spans = new SpanRecorder(tracer);

  private int failures;
  private final Flow<Order> flow =
      Flow.of("order", Order.class)
          .description("Orders seats.")
          .ask("ask_seats", q -> q.question("seats", "How many?"))
          .ask("ask_card", q -> q.question("card", "Which card?"))
          .act(
              "pay",
              run -> {
                if (failures-- > 0) {
                  throw new StepException("The bank is closed.");
                }
                run.set("receipt", "for " + run.state().card());
              })
          .edge(START, "ask_seats")
          .decide("ask_seats", d -> d.when("group", gt("seats", 6)).to("ask_card").otherwise("pay"))
          .edge("ask_card", "pay")
          .edge("pay", END)
          .result(Order::receipt)
          .compile();
  private final FlowProgram<Order> program = FlowProgram.of(flow, Limits.DEFAULT);

  private RunState state = RunState.NONE;
  private RunObserver recording = watch(spans);
  private long now = 1_000;
  private long seq;

  private RunObserver watch(Recorder recorder) {
    return RunObserver.from(state, flow, "s", List.of(AttachedRecorder.everywhere(recorder)));
  }

  private void start() {
    call(new Input.Start("run-1", "to test", Json.object(), now));
  }

  private void answer(String field, Object value) {
    ObjectNode updates = Json.object();
    updates.set(field, Json.tree(value));
    call(new Input.Continue(updates, now));
  }

  private void call(Input input) {
    feed(input);
    while (program.next(state) instanceof Program.Perform<StepEffect> perform) {
      StepEffect effect = perform.effects().get(0);
      feed(
          new Input.EffectEnded(
              effect,
              program.perform(state, effect, World.NONE).toCompletableFuture().join(),
              now));
    }
    now += 1_000;
  }

  private void feed(Input input) {
    List<Event> events =
        ((Program.Accepted<RunState, Event>) program.accept(state, input)).events();
    for (Event event : events) {
      state = program.apply(state, List.of(event), 0);
    }
    recording.record(++seq, now, events);
  }

  private List<SpanData> ended() {
    return exporter.getFinishedSpanItems();
  }

  private static List<String> names(SpanData span) {
    return span.getEvents().stream().map(EventData::getName).toList();
  }

  private static EventData event(SpanData span, String name) {
    return span.getEvents().stream()
        .filter(e -> e.getName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  @Test
  void aRunIsOneSpanFromItsStartToItsEnd() {
    start();
    answer("seats", 7);
    assertThat(ended()).isEmpty();
    answer("card", "4111");
    assertThat(ended()).hasSize(1);
    SpanData span = ended().get(0);
    assertThat(span.getName()).isEqualTo("order");
    assertThat(span.getAttributes().get(AttributeKey.stringKey("fermata.run"))).isEqualTo("run-1");
    assertThat(span.getAttributes().get(AttributeKey.stringKey("fermata.status")))
        .isEqualTo("COMPLETED");
    assertThat(span.getAttributes().get(AttributeKey.booleanKey("fermata.continued"))).isFalse();
    assertThat(span.getStatus().getStatusCode()).isEqualTo(StatusCode.OK);
    assertThat(span.getParentSpanContext().isValid()).isFalse();
    assertThat(millis(span.getStartEpochNanos())).isEqualTo(1_000);
    assertThat(millis(span.getEndEpochNanos())).isEqualTo(3_000);
    assertThat(names(span)).containsExactly("pause", "resume", "decision", "pause", "resume");
  }

  @Test
  void aDecisionIsAnEventWithItsRuleItsEvidenceAndItsTimeInTheJournal() {
    start();
    answer("seats", 7);
    answer("card", "4111");
    EventData decision = event(ended().get(0), "decision");
    assertThat(millis(decision.getEpochNanos())).isEqualTo(2_000);
    assertThat(decision.getAttributes().get(AttributeKey.stringKey("fermata.step")))
        .isEqualTo("ask_seats#1");
    assertThat(decision.getAttributes().get(AttributeKey.stringKey("fermata.rule")))
        .isEqualTo("group");
    assertThat(decision.getAttributes().get(AttributeKey.stringArrayKey("fermata.chosen")))
        .containsExactly("ask_card");
    assertThat(decision.getAttributes().get(AttributeKey.stringArrayKey("fermata.evidence")))
        .containsExactly("seats gt 6: 7 (true)");
  }

  @Test
  void aPauseSaysWhatIsWaitedForAndItsEndHowLong() {
    start();
    now += 60_000;
    answer("seats", 2);
    SpanData span = ended().get(0);
    assertThat(
            event(span, "pause").getAttributes().get(AttributeKey.stringKey("fermata.waits_for")))
        .isEqualTo("ANSWER");
    assertThat(
            event(span, "pause").getAttributes().get(AttributeKey.stringArrayKey("fermata.fields")))
        .containsExactly("seats");
    assertThat(event(span, "resume").getAttributes().get(AttributeKey.longKey("fermata.millis")))
        .isEqualTo(61_000);
  }

  @Test
  void aStepThatFailsMarksTheSpanUntilTheRunCompletes() {
    failures = 1;
    start();
    answer("seats", 2);
    spans.close();
    SpanData failed = ended().get(0);
    assertThat(failed.getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
    assertThat(failed.getStatus().getDescription()).isEqualTo("The bank is closed.");
    assertThat(event(failed, "error").getAttributes().get(AttributeKey.stringKey("fermata.code")))
        .isEqualTo("step_failed");
    call(new Input.Continue(Json.object(), now));
    assertThat(ended().get(1).getStatus().getStatusCode()).isEqualTo(StatusCode.OK);
  }

  @Test
  void aRunThatContinuesAfterARestartIsAFurtherSpanLinkedToTheEarlierOne() {
    start();
    spans.close();
    SpanData before = ended().get(0);
    assertThat(millis(before.getEndEpochNanos())).isEqualTo(1_000);
    recording = watch(spans);
    answer("seats", 2);
    SpanData after = ended().get(1);
    assertThat(after.getAttributes().get(AttributeKey.stringKey("fermata.run"))).isEqualTo("run-1");
    assertThat(after.getAttributes().get(AttributeKey.booleanKey("fermata.continued"))).isTrue();
    assertThat(after.getLinks()).hasSize(1);
    assertThat(after.getLinks().get(0).getSpanContext()).isEqualTo(before.getSpanContext());
    assertThat(millis(after.getStartEpochNanos())).isEqualTo(2_000);
  }

  @Test
  void aRedactionKeepsValuesOutOfTheEvidence() {
    recording = watch(Redaction.of("seats").over(spans));
    start();
    answer("seats", 1_765_432_109);
    answer("card", "4111");
    assertThat(ended().get(0).toString()).doesNotContain("1765432109").contains(Redaction.MARK);
  }
}
