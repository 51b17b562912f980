package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * What a host has published lately. A client may reach one host before that has learned of another
 * one, whose question the client replies to: the other gets it as soon as it is known.
 */
final class RecentMessages {
  /** Hosts know each other long before. */
  static final Duration KEPT = Duration.ofSeconds(30);

  static final long MOST_BYTES = 16L * 1024 * 1024;

  private record Sent(JsonNode message, int bytes, long nanos) {}

  private final Deque<Sent> sent = new ArrayDeque<>();
  private long bytes;

  void add(JsonNode message, int size, long nanos) {
    sent.add(new Sent(message, size, nanos));
    bytes += size;
    forget(nanos);
  }

  /** The messages that are still kept, in their order. */
  List<JsonNode> at(long nanos) {
    forget(nanos);
    List<JsonNode> messages = new ArrayList<>(sent.size());
    sent.forEach(each -> messages.add(each.message()));
    return messages;
  }

  private void forget(long nanos) {
    for (Sent oldest = sent.peek(); oldest != null; oldest = sent.peek()) {
      if (nanos - oldest.nanos() <= KEPT.toNanos() && bytes <= MOST_BYTES) {
        return;
      }
      sent.remove();
      bytes -= oldest.bytes();
    }
  }
}
