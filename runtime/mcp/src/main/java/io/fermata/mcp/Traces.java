package io.fermata.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.Json;
import io.fermata.session.TraceContext;
import org.jspecify.annotations.Nullable;

/** The trace context of a request: from its {@code _meta}, else from its HTTP headers. */
final class Traces {
  private Traces() {}

  /** The {@code _meta} of a request, with what only the headers say of its trace. */
  static ObjectNode of(ObjectNode meta, Arrival arrival) {
    if (!(arrival instanceof Arrival.Post post) || meta.has(TraceContext.TRACEPARENT)) {
      return meta;
    }
    String parent = post.headers().get(TraceContext.TRACEPARENT);
    if (parent == null) {
      return meta;
    }
    ObjectNode all = Json.object();
    all.setAll(meta);
    all.put(TraceContext.TRACEPARENT, parent);
    put(all, TraceContext.TRACESTATE, post.headers().get(TraceContext.TRACESTATE));
    put(all, TraceContext.BAGGAGE, post.headers().get(TraceContext.BAGGAGE));
    return all;
  }

  private static void put(ObjectNode all, String name, @Nullable String value) {
    if (value == null) {
      all.remove(name);
    } else {
      all.put(name, value);
    }
  }
}
