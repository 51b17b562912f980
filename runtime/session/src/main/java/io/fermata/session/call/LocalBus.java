package io.fermata.session.call;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the servers of one host have in common. */
public final class LocalBus implements HostBus {
  private static final Logger LOG = LoggerFactory.getLogger(LocalBus.class);

  private final List<Consumer<JsonNode>> receivers = new CopyOnWriteArrayList<>();

  @Override
  public void publish(JsonNode message) {
    for (Consumer<JsonNode> receiver : receivers) {
      try {
        receiver.accept(message);
      } catch (RuntimeException e) {
        LOG.warn("A message of a server could not be handled", e);
      }
    }
  }

  @Override
  public Runnable subscribe(Consumer<JsonNode> receiver) {
    receivers.add(receiver);
    return () -> receivers.remove(receiver);
  }

  @Override
  public CompletionStage<Boolean> claim(String name, Duration timeToLive) {
    return CompletableFuture.completedFuture(true);
  }

  @Override
  public CompletionStage<Boolean> giveUp(String name) {
    return CompletableFuture.completedFuture(true);
  }
}
