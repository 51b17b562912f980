package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.session.call.HostBus;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The bus of a host of a cluster. */
final class ClusterBus implements HostBus {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterBus.class);

  private final Consumer<JsonNode> others;
  private final List<Consumer<JsonNode>> receivers = new CopyOnWriteArrayList<>();

  ClusterBus(Consumer<JsonNode> others) {
    this.others = others;
  }

  @Override
  public void publish(JsonNode message) {
    others.accept(message);
  }

  @Override
  public Runnable subscribe(Consumer<JsonNode> receiver) {
    receivers.add(receiver);
    return () -> receivers.remove(receiver);
  }

  /** Another host has published a message. */
  void receive(JsonNode message) {
    for (Consumer<JsonNode> receiver : receivers) {
      try {
        receiver.accept(message);
      } catch (RuntimeException e) {
        LOG.warn("A message of another host could not be handled", e);
      }
    }
  }
}
