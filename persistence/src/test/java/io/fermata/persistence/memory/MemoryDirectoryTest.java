package io.fermata.persistence.memory;

import io.fermata.persistence.Store;

final class MemoryDirectoryTest extends DirectoryContract {

  @Override
  public Store newStore() {
    return Store.memory();
  }
}
