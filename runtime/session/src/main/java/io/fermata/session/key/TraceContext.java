package io.fermata.session.key;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * What a call says of the trace that it belongs to, in the form of W3C Trace Context: a hint for
 * those who trace, which may be missing, and may be nonsense.
 */
public record TraceContext(
    @Nullable String traceparent, @Nullable String tracestate, @Nullable String baggage) {
  public static final String TRACEPARENT = "traceparent";
  public static final String TRACESTATE = "tracestate";
  public static final String BAGGAGE = "baggage";

  /** A call that says nothing of a trace. */
  public static final TraceContext NONE = new TraceContext(null, null, null);

  /** Nobody who keeps to the specification sends more. */
  private static final int LONGEST = 8_192;

  public TraceContext {
    traceparent = bounded(traceparent);
    tracestate = bounded(tracestate);
    baggage = bounded(baggage);
  }

  private static @Nullable String bounded(@Nullable String value) {
    return value == null || value.length() > LONGEST ? null : value;
  }

  /** What the {@code _meta} of a call says. */
  public static TraceContext of(ObjectNode meta) {
    JsonNode parent = meta.path(TRACEPARENT);
    JsonNode baggage = meta.path(BAGGAGE);
    return parent.isTextual() || baggage.isTextual()
        ? new TraceContext(
            parent.textValue(), meta.path(TRACESTATE).textValue(), baggage.textValue())
        : NONE;
  }

  /** One of its fields by the name that it has in W3C Trace Context. */
  public @Nullable String field(String name) {
    return switch (name) {
      case TRACEPARENT -> traceparent;
      case TRACESTATE -> tracestate;
      case BAGGAGE -> baggage;
      default -> null;
    };
  }
}
