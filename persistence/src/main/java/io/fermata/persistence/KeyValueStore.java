package io.fermata.persistence;

import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sessions in a key-value store, one value for each. */
final class KeyValueStore implements Store {

  /**
   * A key-value store that can be called.
   *
   * @param release frees what was opened for it
   */
  record Opened(KvStore store, Runnable release) {}

  private final String name;
  private final Supplier<Opened> opening;
  private final @Nullable Duration endedExpireAfter;

  KeyValueStore(String name, Supplier<Opened> opening, @Nullable Duration endedExpireAfter) {
    this.name = name;
    this.opening = opening;
    this.endedExpireAfter = endedExpireAfter;
  }

  static KeyValueStore of(KvStore store, @Nullable Duration endedExpireAfter) {
    return new KeyValueStore(store.describe(), () -> new Opened(store, () -> {}), endedExpireAfter);
  }

  @Override
  public OpenStore open() {
    return OpenKeyValueStore.open(opening.get(), endedExpireAfter);
  }

  @Override
  public String toString() {
    return name;
  }
}
