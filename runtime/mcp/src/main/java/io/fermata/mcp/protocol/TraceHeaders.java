package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.session.key.TraceContext;
import org.jspecify.annotations.Nullable;

/** The trace context of a request: from its {@code _meta}, else from its HTTP headers. */
public final class TraceHeaders {
  private TraceHeaders() {}

  /** The {@code _meta} of a request, with the trace context of its headers if it has none. */
  public static ObjectNode of(ObjectNode meta, MessageSource arrival) {
    if (!(arrival instanceof MessageSource.Post post) || meta.has(TraceContext.TRACEPARENT)) {
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
