package io.fermata.session.key;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * The trace that a call belongs to, in the form of W3C Trace Context. It is the client's hint, and
 * may be missing or invalid.
 */
public record TraceContext(
    @Nullable String traceparent, @Nullable String tracestate, @Nullable String baggage) {
  public static final String TRACEPARENT = "traceparent";
  public static final String TRACESTATE = "tracestate";
  public static final String BAGGAGE = "baggage";

  /** No trace. */
  public static final TraceContext NONE = new TraceContext(null, null, null);

  /** More than the specification allows. */
  private static final int LONGEST = 8_192;

  public TraceContext {
    traceparent = bounded(traceparent);
    tracestate = bounded(tracestate);
    baggage = bounded(baggage);
  }

  private static @Nullable String bounded(@Nullable String value) {
    return value == null || value.length() > LONGEST ? null : value;
  }

  /** The trace in the {@code _meta} of a call. */
  public static TraceContext of(ObjectNode meta) {
    JsonNode parent = meta.path(TRACEPARENT);
    JsonNode baggage = meta.path(BAGGAGE);
    return parent.isTextual() || baggage.isTextual()
        ? new TraceContext(
            parent.textValue(), meta.path(TRACESTATE).textValue(), baggage.textValue())
        : NONE;
  }

  /** A field by its name in W3C Trace Context. */
  public @Nullable String field(String name) {
    return switch (name) {
      case TRACEPARENT -> traceparent;
      case TRACESTATE -> tracestate;
      case BAGGAGE -> baggage;
      default -> null;
    };
  }
}
