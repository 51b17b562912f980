package io.fermata.session.telemetry;

import io.fermata.session.key.TraceContext;
import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Telemetry;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.baggage.propagation.W3CBaggagePropagator;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Exports the work of a host as OpenTelemetry spans: one per tool call, and within it one per
 * attempt of an effect. Handlers run with their span as the current one, so that spans of the
 * clients they use belong to it, and with the caller's baggage.
 *
 * <p>A call continues the trace in its {@code _meta} ({@code traceparent}, {@code tracestate},
 * {@code baggage}), or else the current span of its caller. After a restart the trace that led to
 * an effect is unknown: its span starts a new one, and {@code fermata.run} connects them.
 */
public final class Spans implements Telemetry {
  private static final AttributeKey<String> TOOL = AttributeKey.stringKey("gen_ai.tool.name");
  private static final AttributeKey<String> METHOD = AttributeKey.stringKey("mcp.method.name");
  private static final AttributeKey<String> KIND = AttributeKey.stringKey("fermata.kind");
  private static final AttributeKey<String> FLOW = AttributeKey.stringKey("fermata.flow");
  private static final AttributeKey<String> AGENT = AttributeKey.stringKey("fermata.agent");
  private static final AttributeKey<String> RUN = AttributeKey.stringKey("fermata.run");
  private static final AttributeKey<String> THREAD = AttributeKey.stringKey("fermata.thread");
  private static final AttributeKey<Long> VERSION = AttributeKey.longKey("fermata.version");
  private static final AttributeKey<String> NODE = AttributeKey.stringKey("fermata.node");
  private static final AttributeKey<String> EFFECT = AttributeKey.stringKey("fermata.effect");
  private static final AttributeKey<Long> ATTEMPT = AttributeKey.longKey("fermata.attempt");
  private static final AttributeKey<String> STATUS = AttributeKey.stringKey("fermata.status");
  private static final AttributeKey<String> CODE = AttributeKey.stringKey("fermata.code");

  private static final TextMapPropagator W3C =
      TextMapPropagator.composite(
          W3CTraceContextPropagator.getInstance(), W3CBaggagePropagator.getInstance());

  private static final TextMapGetter<TraceContext> GETTER =
      new TextMapGetter<>() {
        @Override
        public @Nullable String get(@Nullable TraceContext carrier, String key) {
          return carrier == null ? null : carrier.field(key.toLowerCase(Locale.ROOT));
        }
      };

  private final Tracer tracer;

  private Spans(Tracer tracer) {
    this.tracer = tracer;
  }

  /** Spans of the application's OpenTelemetry, whose SDK exports them. */
  public static Spans of(OpenTelemetry telemetry) {
    return new Spans(telemetry.getTracer("io.fermata"));
  }

  @Override
  public Activity called(Call call) {
    // The application's instrumentation of HTTP has spans of requests.
    if (call.kind() == Kind.HTTP) {
      return Activity.NONE;
    }
    Context here = Context.current();
    boolean within = Span.fromContext(here).getSpanContext().isValid();
    Context parent = W3C.extract(here, call.caller(), GETTER);
    SpanBuilder span =
        tracer
            .spanBuilder("tools/call " + call.tool())
            .setParent(parent)
            .setSpanKind(within ? SpanKind.INTERNAL : SpanKind.SERVER)
            .setAttribute(METHOD, "tools/call")
            .setAttribute(TOOL, call.tool())
            .setAttribute(KIND, call.kind().name().toLowerCase(Locale.ROOT));
    if (call.kind() == Kind.FLOW) {
      span.setAttribute(FLOW, call.tool());
    }
    boolean ofThread = call.kind() == Kind.AGENT;
    return new Timed(span.startSpan(), parent, ofThread ? THREAD : RUN);
  }

  @Override
  public Activity performing(Effect effect) {
    Context parent = W3C.extract(Context.root(), effect.cause(), GETTER);
    boolean ofFlow = effect.kind() == Kind.FLOW;
    SpanBuilder span =
        tracer
            .spanBuilder(effect.name() + " " + effect.step())
            .setParent(parent)
            .setSpanKind(SpanKind.INTERNAL)
            .setAttribute(ofFlow ? FLOW : AGENT, effect.name())
            .setAttribute(ofFlow ? RUN : THREAD, effect.run())
            .setAttribute(EFFECT, effect.what())
            .setAttribute(ATTEMPT, (long) effect.attempt());
    if (ofFlow) {
      span.setAttribute(NODE, effect.step()).setAttribute(VERSION, (long) effect.version());
    }
    return new Timed(span.startSpan(), parent, ofFlow ? RUN : THREAD);
  }

  private static final class Timed implements Activity {
    private final Span span;
    private final Context context;
    private final AttributeKey<String> run;

    Timed(Span span, Context parent, AttributeKey<String> run) {
      this.span = span;
      this.context = parent.with(span);
      this.run = run;
    }

    @Override
    public TraceContext context() {
      Map<String, String> fields = new HashMap<>();
      W3C.inject(context, fields, Map::put);
      return new TraceContext(
          fields.get(TraceContext.TRACEPARENT),
          fields.get(TraceContext.TRACESTATE),
          fields.get(TraceContext.BAGGAGE));
    }

    /** The caller closes it. */
    @Override
    @SuppressWarnings("MustBeClosedChecker")
    public Entered enter() {
      Scope scope = context.makeCurrent();
      return scope::close;
    }

    @Override
    public void end(End end) {
      span.setAttribute(STATUS, end.status());
      if (end.run() != null) {
        span.setAttribute(run, end.run());
      }
      if (end.version() > 0) {
        span.setAttribute(VERSION, (long) end.version());
      }
      if (end.code() != null) {
        span.setAttribute(CODE, end.code());
      }
      if (!end.good()) {
        span.setStatus(StatusCode.ERROR, end.code() == null ? end.status() : end.code());
      }
      span.end();
    }
  }
}
