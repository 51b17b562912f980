package io.fermata.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fermata.session.call.HostBus;
import io.fermata.session.journal.JournalSerializer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** The bus of some hosts in one process. */
public final class FakeBus {
  private static final ObjectMapper CBOR = JournalSerializer.mapper();

  private final List<Consumer<JsonNode>> receivers = new CopyOnWriteArrayList<>();

  /** As an actor has one. */
  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(
          task -> {
            Thread daemon = new Thread(task, "fake-bus");
            daemon.setDaemon(true);
            return daemon;
          });

  private final Map<String, HostBus> claims = new ConcurrentHashMap<>();

  /** Whether nothing can be claimed, as the store is away. */
  volatile boolean unreachable;

  /** What was published. */
  final List<JsonNode> published = new CopyOnWriteArrayList<>();

  /** The bus as one more host sees it. */
  public HostBus join() {
    return new HostBus() {
      @Override
      public void publish(JsonNode message) {
        published.add(message);
        byte[] sent = serialized(message);
        receivers.forEach(receiver -> thread.execute(() -> receiver.accept(read(sent))));
      }

      @Override
      public Runnable subscribe(Consumer<JsonNode> messages) {
        receivers.add(messages);
        return () -> receivers.remove(messages);
      }

      @Override
      public CompletionStage<Boolean> claim(String name, Duration timeToLive) {
        return unreachable
            ? CompletableFuture.failedFuture(new IOException("no store"))
            : CompletableFuture.supplyAsync(() -> claims.putIfAbsent(name, this) == null, thread);
      }

      @Override
      public CompletionStage<Boolean> giveUp(String name) {
        return CompletableFuture.supplyAsync(() -> claims.remove(name, this), thread);
      }
    };
  }

  private static byte[] serialized(JsonNode message) {
    try {
      return CBOR.writeValueAsBytes(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static JsonNode read(byte[] message) {
    try {
      return CBOR.readTree(message);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  int receivers() {
    return receivers.size();
  }
}
