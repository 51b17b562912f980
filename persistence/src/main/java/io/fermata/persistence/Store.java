package io.fermata.persistence;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Where journals live: a description that costs nothing until a host opens it.
 *
 * <p>Nothing falls back to memory silently. Whoever wants {@link #memory()} says so.
 */
public sealed interface Store permits MemoryStore, SqliteStore {

  /**
   * Journals in the memory of this JVM, for tests only: they end with the process. The same
   * instance keeps its journals when it is opened again, so a test can restart a host on it. Events
   * and snapshots are kept serialized, so a class that cannot be serialized fails here as it would
   * in production.
   */
  static Store memory() {
    return new MemoryStore();
  }

  /**
   * Journals in one SQLite file, created when it is missing. An acknowledged write has reached the
   * disk. One process at a time may have the file open.
   */
  static Store sqlite(Path file) {
    return new SqliteStore(file);
  }

  /**
   * The store that {@code spec} names: {@code memory} or {@code sqlite:} followed by a file.
   *
   * @throws IllegalArgumentException if it names no store of this version; the message lists the
   *     choices
   */
  static Store parse(String spec) {
    return StoreSpec.parse(spec);
  }

  /**
   * The store that the environment variable {@code FERMATA_STORE} names, empty if it is unset or
   * blank.
   *
   * @throws IllegalArgumentException if it is set to something {@link #parse(String)} refuses
   */
  static Optional<Store> fromEnvironment() {
    return StoreSpec.fromEnvironment(System.getenv());
  }

  /**
   * Opens the store for one host, creating what is missing.
   *
   * @throws StoreException if it is in use by another process or host, or cannot be used
   */
  OpenStore open();

  /**
   * Copies an embedded store into a new file as it is at one moment, while a host may have it open,
   * in this process or another. The copy is a store itself.
   *
   * @param file does not exist yet
   * @throws StoreException if the store is none that is kept in a file, or cannot be copied
   */
  void backup(Path file);
}
