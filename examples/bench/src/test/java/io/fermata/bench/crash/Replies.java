package io.fermata.bench.crash;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.call.ToolReply;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What hosts replied to each call, also when its client had given up and asked another host: all
 * replies that acknowledge it must be the same one.
 */
final class Replies {
  private final Map<String, String> byCall = new ConcurrentHashMap<>();
  private final AtomicInteger repeated = new AtomicInteger();
  private final AtomicReference<@Nullable String> difference = new AtomicReference<>();

  /** Any thread may have received one. */
  void received(ObjectNode arguments, ObjectNode meta, ToolReply reply) {
    JsonNode callId = meta.path("fermata/callId");
    if (callId.isMissingNode() || reply.error()) {
      return;
    }
    String call =
        arguments.path("sessionId").asText(meta.path("fermata/sessionId").asText()) + " " + callId;
    String said = reply.structured() + " " + reply.meta().path("fermata/run");
    String before = byCall.putIfAbsent(call, said);
    if (before != null) {
      repeated.incrementAndGet();
      if (!before.equals(said)) {
        difference.compareAndSet(
            null, "The call " + call + " was acknowledged with " + before + " and with " + said);
      }
    }
  }

  /** How often a call was acknowledged again. */
  int repeated() {
    return repeated.get();
  }

  void requireSame() {
    String two = difference.get();
    if (two != null) {
      throw new IllegalStateException(two);
    }
  }
}
