package io.fermata.mcp.call;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.session.call.HostBus;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** The bus of hosts that claim names in a store with one thread. */
final class StoreBus implements AutoCloseable {
  static final String THREAD = "store";

  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(task -> new Thread(task, THREAD));

  /** Who has each name. */
  final Map<String, HostBus> claims = new ConcurrentHashMap<>();

  /** Whether a name was given up. */
  volatile boolean givenUp;

  /** Holds the store up when a name is given up. */
  volatile CompletableFuture<Void> givingUp = CompletableFuture.completedFuture(null);

  /** The bus of one more host. */
  HostBus join() {
    return new HostBus() {
      @Override
      public void publish(JsonNode message) {}

      @Override
      public Runnable subscribe(Consumer<JsonNode> receiver) {
        return () -> {};
      }

      @Override
      public CompletionStage<Boolean> claim(String name, Duration timeToLive) {
        // Begun before the caller adds what follows, so it completes on the thread of the store.
        CompletableFuture<Boolean> claimed = new CompletableFuture<>();
        thread.execute(
            () ->
                thread.execute(
                    () -> claimed.complete(claims.merge(name, this, (a, b) -> a) == this)));
        return claimed;
      }

      @Override
      public CompletionStage<Boolean> giveUp(String name) {
        givenUp = true;
        return CompletableFuture.supplyAsync(
            () -> {
              givingUp.join();
              return claims.remove(name, this);
            },
            thread);
      }
    };
  }

  @Override
  public void close() {
    thread.shutdownNow();
  }
}
