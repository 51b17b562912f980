package io.fermata.persistence;

import org.junit.jupiter.api.Tag;

@Tag("slow")
final class PostgresDirectoryTest extends DirectoryContract {

  @Override
  Store newStore() {
    return PostgresProbe.fresh().store();
  }
}
