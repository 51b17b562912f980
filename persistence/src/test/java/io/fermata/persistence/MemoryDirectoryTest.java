package io.fermata.persistence;

final class MemoryDirectoryTest extends DirectoryContract {

  @Override
  Store newStore() {
    return Store.memory();
  }
}
