package io.fermata.mcp.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.session.call.HostBus;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * The other servers of a host, and those of the other hosts of its cluster, which pass each other
 * messages of several kinds.
 */
public final class PeerServers {
  private static final String KIND = "mcp";
  private static final String FROM = "from";

  private final HostBus bus;
  private final String self = UUID.randomUUID().toString();
  private final Map<String, Consumer<JsonNode>> receivers = new ConcurrentHashMap<>();

  public PeerServers(HostBus bus) {
    this.bus = bus;
  }

  /** Receives the messages of a kind. */
  public void on(String kind, Consumer<JsonNode> receiver) {
    receivers.put(kind, receiver);
  }

  /** Passes a message to the others, once. */
  public void pass(String kind, ObjectNode message) {
    bus.publish(message.put(KIND, kind).put(FROM, self));
  }

  /**
   * Receives what the others pass, until the subscription ends. A handler may continue with a reply
   * on the thread that brings it, so that is one of its own.
   */
  public Runnable subscribe() {
    ExecutorService thread =
        Executors.newSingleThreadExecutor(task -> new Thread(task, "fermata-mcp-peers"));
    Runnable end = bus.subscribe(message -> thread.execute(() -> receive(message)));
    return () -> {
      end.run();
      thread.shutdown();
    };
  }

  /** A message of a kind that is unknown here is one of another release. */
  private void receive(JsonNode message) {
    if (message.path(FROM).asText().equals(self)) {
      return;
    }
    receivers.getOrDefault(message.path(KIND).asText(), unknown -> {}).accept(message);
  }
}
