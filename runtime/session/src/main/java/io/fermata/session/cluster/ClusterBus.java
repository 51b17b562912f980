package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.call.HostBus;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The bus of a host of a cluster. */
final class ClusterBus implements HostBus {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterBus.class);

  /** Apart from the leases of the cluster itself. */
  private static final String CLAIM = "claim ";

  private final Consumer<JsonNode> others;
  private final SharedStore store;
  private final String self = UUID.randomUUID().toString();
  private final List<Consumer<JsonNode>> receivers = new CopyOnWriteArrayList<>();

  /**
   * @param others sends a message to all other hosts
   */
  ClusterBus(Consumer<JsonNode> others, SharedStore store) {
    this.others = others;
    this.store = store;
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

  @Override
  public CompletionStage<Boolean> claim(String name, Duration timeToLive) {
    return store.lease(CLAIM + name, self, timeToLive);
  }

  @Override
  public void giveUp(String name) {
    store
        .endLease(CLAIM + name, self)
        .exceptionally(
            thrown -> {
              LOG.warn(
                  "{} stays claimed until it expires, as it could not be released", name, thrown);
              return null;
            });
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
