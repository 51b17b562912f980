package io.fermata.persistence;

final class PostgresDirectoryTest extends DirectoryContract {

  @Override
  Store newStore() {
    return PostgresProbe.fresh().store();
  }
}
