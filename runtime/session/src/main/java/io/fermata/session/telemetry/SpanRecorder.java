package io.fermata.session.telemetry;

import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Exports runs as OpenTelemetry spans: one span per run, with an event for every decision and its
 * evidence, and for every pause, resumption, retry and error. All times are those of the journal.
 *
 * <p>A span cannot outlive its process. After a restart a run gets another span with {@code
 * fermata.continued} true and the same {@code fermata.run}, linked to the earlier one if this
 * recorder created it. Close the recorder when the host stops, so that the spans of unfinished runs
 * are exported.
 *
 * <p>The evidence contains values of clients: wrap the recorder in a {@code Redaction} if they must
 * not be exported.
 */
public final class SpanRecorder implements Recorder, AutoCloseable {
  /** Enough for the runs that are awake; a run whose span was evicted starts another. */
  private static final int MOST_SPANS = 10_000;

  private static final AttributeKey<String> FLOW = AttributeKey.stringKey("fermata.flow");
  private static final AttributeKey<String> SESSION = AttributeKey.stringKey("fermata.session");
  private static final AttributeKey<String> RUN = AttributeKey.stringKey("fermata.run");
  private static final AttributeKey<Long> VERSION = AttributeKey.longKey("fermata.version");
  private static final AttributeKey<Boolean> CONTINUED =
      AttributeKey.booleanKey("fermata.continued");
  private static final AttributeKey<String> STATUS = AttributeKey.stringKey("fermata.status");
  private static final AttributeKey<Long> SEQ = AttributeKey.longKey("fermata.seq");
  private static final AttributeKey<String> STEP = AttributeKey.stringKey("fermata.step");
  private static final AttributeKey<String> RULE = AttributeKey.stringKey("fermata.rule");
  private static final AttributeKey<List<String>> CHOSEN =
      AttributeKey.stringArrayKey("fermata.chosen");
  private static final AttributeKey<List<String>> EVIDENCE =
      AttributeKey.stringArrayKey("fermata.evidence");
  private static final AttributeKey<String> WAITS = AttributeKey.stringKey("fermata.waits_for");
  private static final AttributeKey<List<String>> FIELDS =
      AttributeKey.stringArrayKey("fermata.fields");
  private static final AttributeKey<String> CAUSE = AttributeKey.stringKey("fermata.cause");
  private static final AttributeKey<Long> MILLIS = AttributeKey.longKey("fermata.millis");
  private static final AttributeKey<Long> ATTEMPT = AttributeKey.longKey("fermata.attempt");
  private static final AttributeKey<String> CODE = AttributeKey.stringKey("fermata.code");
  private static final AttributeKey<String> MESSAGE = AttributeKey.stringKey("fermata.message");

  private record SessionKey(String flow, String session) {}

  /** A run's span, and the time of its last event. */
  private static final class Open {
    final String run;
    final Span span;
    long at;

    Open(String run, Span span, long at) {
      this.run = run;
      this.span = span;
      this.at = at;
    }
  }

  private final Tracer tracer;

  /** A session has one run at a time. */
  private final Map<SessionKey, Open> open = new LinkedHashMap<>(16, 0.75f, true);

  private final Map<SessionKey, SpanContext> latest = new LinkedHashMap<>(16, 0.75f, true);

  public SpanRecorder(Tracer tracer) {
    this.tracer = tracer;
  }

  /** Every span needs the time of its last event, in case it is cut off. */
  @Override
  public synchronized void onEvent(Observation event) {
    event.to(this);
    Open known = open.get(key(event.moment()));
    if (known != null) {
      known.at = event.moment().at();
    }
  }

  private static SessionKey key(Occurrence moment) {
    return new SessionKey(moment.flow(), moment.session());
  }

  // --- spans ----------------------------------------------------------------------------------

  @Override
  public void onRunStart(Occurrence at, Observation.RunStart event) {
    begin(at, false).setAttribute(VERSION, (long) event.version());
  }

  private Span span(Occurrence moment) {
    Open known = open.get(key(moment));
    return known != null && known.run.equals(moment.run()) ? known.span : begin(moment, true);
  }

  private Span begin(Occurrence moment, boolean continued) {
    SessionKey key = key(moment);
    cutOff(open.remove(key));
    SpanBuilder builder =
        tracer
            .spanBuilder(moment.flow())
            .setParent(Context.root())
            .setSpanKind(SpanKind.INTERNAL)
            .setStartTimestamp(moment.at(), TimeUnit.MILLISECONDS)
            .setAttribute(FLOW, moment.flow())
            .setAttribute(SESSION, moment.session())
            .setAttribute(RUN, moment.run())
            .setAttribute(CONTINUED, continued);
    SpanContext before = latest.get(key);
    if (before != null) {
      builder.addLink(before);
    }
    Span span = builder.startSpan();
    latest.put(key, span.getSpanContext());
    open.put(key, new Open(moment.run(), span, moment.at()));
    removeEldest(latest);
    cutOff(removeEldest(open));
    return span;
  }

  private static <V> @Nullable V removeEldest(Map<SessionKey, V> map) {
    return map.size() > MOST_SPANS ? map.remove(map.keySet().iterator().next()) : null;
  }

  private static void cutOff(@Nullable Open known) {
    if (known != null) {
      known.span.end(known.at, TimeUnit.MILLISECONDS);
    }
  }

  private void end(Occurrence moment, String status) {
    Span span = span(moment).setAttribute(STATUS, status);
    open.remove(key(moment));
    span.end(moment.at(), TimeUnit.MILLISECONDS);
  }

  /** Ends the spans of unfinished runs, at the time of their last event. */
  @Override
  public synchronized void close() {
    open.values().forEach(SpanRecorder::cutOff);
    open.clear();
  }

  @Override
  public void onRunEnd(Occurrence at, Observation.RunEnd event) {
    if (event.status() == RunState.Status.COMPLETED) {
      span(at).setStatus(StatusCode.OK);
    }
    end(at, event.status().name());
  }

  @Override
  public void onRunFailed(Occurrence at, Event.Failed event) {
    span(at).setStatus(StatusCode.ERROR, event.message());
    end(at, "FAILED");
  }

  // --- span events ----------------------------------------------------------------------------

  private void add(String name, Occurrence moment, AttributesBuilder attributes) {
    Attributes all = attributes.put(SEQ, moment.seq()).put(STEP, moment.step()).build();
    span(moment).addEvent(name, all, moment.at(), TimeUnit.MILLISECONDS);
  }

  @Override
  public void onDecision(Occurrence at, Event.Decided event) {
    String rule = event.rule() == null ? "otherwise" : event.rule();
    AttributesBuilder attributes = Attributes.builder().put(RULE, rule);
    add("decision", at, attributes.put(CHOSEN, event.targets()).put(EVIDENCE, event.evidence()));
  }

  @Override
  public void onSelected(Occurrence at, Event.Decided event) {
    List<String> rules =
        event.tried().stream().filter(Event.Tried::matched).map(Event.Tried::rule).toList();
    AttributesBuilder attributes = Attributes.builder().put(RULE, String.join(", ", rules));
    add("selection", at, attributes.put(CHOSEN, event.targets()).put(EVIDENCE, event.evidence()));
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause event) {
    List<String> fields = event.questions().stream().map(Event.Question::field).toList();
    AttributesBuilder attributes = Attributes.builder().put(WAITS, event.what().name());
    if (event.what() == Observation.Wait.TIME && event.until() != null) {
      attributes.put(MILLIS, Math.max(0, event.until() - at.at()));
    }
    add("pause", at, attributes.put(FIELDS, fields));
  }

  @Override
  public void onResume(Occurrence at, Observation.Resume event) {
    AttributesBuilder attributes = Attributes.builder().put(WAITS, event.what().name());
    add("resume", at, attributes.put(CAUSE, event.cause().name()).put(MILLIS, at.took()));
  }

  @Override
  public void onStageRetry(Occurrence at, Event.AttemptFailed event) {
    AttributesBuilder attributes = Attributes.builder().put(ATTEMPT, (long) event.attempt());
    add("retry", at, attributes.put(CODE, event.code().wireName()).put(MESSAGE, event.message()));
  }

  /** A failed step marks the span, unless the run completes in the end. */
  @Override
  public void onError(Occurrence at, Observation.Failure event) {
    if (event.code() != null) {
      AttributesBuilder attributes = Attributes.builder().put(CODE, event.code().wireName());
      add("error", at, attributes.put(MESSAGE, event.message()));
      span(at).setStatus(StatusCode.ERROR, event.message());
    }
  }
}
