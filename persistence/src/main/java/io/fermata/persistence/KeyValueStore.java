package io.fermata.persistence;

import java.nio.file.Path;
import java.util.function.Supplier;

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

  KeyValueStore(String name, Supplier<Opened> opening) {
    this.name = name;
    this.opening = opening;
  }

  static KeyValueStore of(KvStore store) {
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

  static StoreException noBackup(String name) {
    return new StoreException(
        name + " has no file to copy; back up the server that keeps it by its own means");
  }

  @Override
  public String toString() {
    return name;
  }
}
