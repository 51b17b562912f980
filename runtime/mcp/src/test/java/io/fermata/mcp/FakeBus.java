package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.session.call.HostBus;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** The bus of some hosts in one process. */
final class FakeBus {
  private record Receiver(HostBus of, Consumer<JsonNode> messages) {}

  private final List<Receiver> receivers = new CopyOnWriteArrayList<>();

  /** What was published. */
  final List<JsonNode> published = new CopyOnWriteArrayList<>();

  /** The bus as one more host sees it. */
  HostBus join() {
    return new HostBus() {
      @Override
      public void publish(JsonNode message) {
        published.add(message);
        receivers.stream()
            .filter(receiver -> receiver.of() != this)
            .forEach(receiver -> receiver.messages().accept(message));
      }

      @Override
      public Runnable subscribe(Consumer<JsonNode> messages) {
        Receiver receiver = new Receiver(this, messages);
        receivers.add(receiver);
        return () -> receivers.remove(receiver);
      }
    };
  }

  int receivers() {
    return receivers.size();
  }
}
