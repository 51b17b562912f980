package io.fermata.persistence.memory;

import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreSource;
import io.fermata.persistence.spi.Verified;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Journals in memory, for tests. */
public final class MemoryStore implements StoreSource {

  private final OpenMemoryStore journals = new OpenMemoryStore();

  @Override
  public OpenStore open() {
    return journals;
  }

  @Override
  public void backup(Path file) {
    throw noBackup();
  }

  @Override
  public Verified verify(Consumer<String> damage) {
    throw new StoreException(
        "A store in memory ends with its process and cannot be damaged; name another store");
  }

  static StoreException noBackup() {
    return new StoreException(
        "A store in memory ends with its process and has no file to copy; export single runs,"
            + " or keep the journals in a file: sqlite:<file>");
  }

  OpenMemoryStore journals() {
    return journals;
  }

  @Override
  public String toString() {
    return OpenMemoryStore.NAME;
  }
}
