package io.fermata.persistence;

import com.typesafe.config.Config;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.setup.Setup;

/** A memory store while a host uses it. */
final class OpenMemoryStore implements OpenStore {

  static final String NAME = "memory";

  private final MemoryJournals journals;

  OpenMemoryStore(MemoryJournals journals) {
    this.journals = journals;
  }

  @Override
  public String describe() {
    return NAME;
  }

  @Override
  public Config config() {
    return StoreConfig.load("memory-store.conf");
  }

  @Override
  public Setup setup() {
    return new MemorySetup(journals);
  }

  @Override
  public byte[] serverKey() {
    return journals.serverKey();
  }

  @Override
  public CompletionStage<List<String>> working() {
    return CompletableFuture.completedFuture(journals.working());
  }

  @Override
  public CompletionStage<List<Due>> due(long untilEpochMillis, int max) {
    return CompletableFuture.completedFuture(journals.due(untilEpochMillis, max));
  }

  @Override
  public CompletionStage<Integer> sweep() {
    return CompletableFuture.completedFuture(journals.sweep());
  }

  /** Keeps the journals: a test that opens the same store again finds them. */
  @Override
  public void close() {}
}
