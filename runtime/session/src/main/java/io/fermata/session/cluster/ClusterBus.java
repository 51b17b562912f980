package io.fermata.session.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.persistence.spi.SharedStore;
import io.fermata.session.call.HostBus;
import io.fermata.session.call.LocalBus;
import io.fermata.session.key.RootCauses;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The bus of a host of a cluster. */
final class ClusterBus implements HostBus {
  private static final Logger LOG = LoggerFactory.getLogger(ClusterBus.class);

  /** Beyond these the store is too slow for more, and appends would wait behind them. */
  private static final int MOST_CLAIMS = 1_000;

  private final ObjIntConsumer<JsonNode> others;
  private final SharedStore store;
  private final String self = UUID.randomUUID().toString();
  private final LocalBus here = new LocalBus();
  private final AtomicInteger claims = new AtomicInteger();
  private final AtomicBoolean troubled = new AtomicBoolean();

  /**
   * @param others sends a message, of a size in bytes, to all other hosts
   */
  ClusterBus(ObjIntConsumer<JsonNode> others, SharedStore store) {
    this.others = others;
    this.store = store;
  }

  @Override
  public void publish(JsonNode message) {
    int size = RemoteCall.size(message);
    if (size > RemoteCall.LARGEST) {
      throw new IllegalArgumentException(
          "A message is larger than the %s bytes that hosts of a cluster send each other"
              .formatted(RemoteCall.LARGEST));
    }
    others.accept(message, size);
    here.publish(message);
  }

  @Override
  public Runnable subscribe(Consumer<JsonNode> receiver) {
    return here.subscribe(receiver);
  }

  @Override
  public CompletionStage<Boolean> claim(String name, Duration timeToLive) {
    if (claims.incrementAndGet() > MOST_CLAIMS) {
      claims.decrementAndGet();
      return CompletableFuture.failedFuture(
          new RejectedExecutionException(
              MOST_CLAIMS + " claims are waiting for the store; retry later"));
    }
    return store
        .claim(name, self, timeToLive)
        .whenComplete(
            (claimed, thrown) -> {
              claims.decrementAndGet();
              notice(thrown);
            });
  }

  @Override
  public CompletionStage<Boolean> giveUp(String name) {
    return store
        .endClaim(name, self)
        .handle(
            (ended, thrown) -> {
              notice(thrown);
              return thrown == null;
            });
  }

  /** An outage concerns every request that claims something, and is logged once. */
  private void notice(@Nullable Throwable thrown) {
    if (thrown == null && troubled.compareAndSet(true, false)) {
      LOG.info("The store takes claims again");
    } else if (thrown != null && troubled.compareAndSet(false, true)) {
      LOG.warn(
          "The store does not take claims, so requests that must be used once are refused until it"
              + " does: {}",
          RootCauses.of(thrown).toString());
    }
  }

  /** Another host has published a message. */
  void receive(JsonNode message) {
    here.publish(message);
  }
}
