package io.fermata.persistence.keyvalue;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Sessions in a key-value store, one value for each. */
public final class KeyValueStore implements StoreSource {

  /**
   * A key-value store that can be called.
   *
   * @param release releases what was opened for it
   */
  record Opened(KvStore store, Runnable release) {}

  private final String name;
  private final Supplier<Opened> opening;

  KeyValueStore(String name, Supplier<Opened> opening) {
    this.name = name;
    this.opening = opening;
  }

  /**
   * Sessions in an application's own key-value store. It keeps no history and cannot be listed;
   * requests for either fail with a {@link io.fermata.persistence.spi.NoHistoryException}. The
   * given store is not closed with the host.
   *
   * <pre>{@code
   * Fermata.host().store(KeyValueStore.of(new MyTable()))
   * }</pre>
   */
  public static Store of(KvStore store) {
    return Store.of(source(store));
  }

  static KeyValueStore source(KvStore store) {
    return new KeyValueStore(store.describe(), () -> new Opened(store, () -> {}));
  }

  @Override
  public OpenStore open() {
    return OpenKeyValueStore.open(opening.get());
  }

  @Override
  public void backup(Path file) {
    throw noBackup(name);
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    return OpenKeyValueStore.verify(opening.get(), damage);
  }

  static StoreException noBackup(String name) {
    return new StoreException(name + " has no file to copy; use the backup tools of its server");
  }

  @Override
  public String toString() {
    return name;
  }
}
