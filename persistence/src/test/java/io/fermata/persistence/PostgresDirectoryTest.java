package io.fermata.persistence;

import io.fermata.persistence.memory.DirectoryContract;
import org.junit.jupiter.api.Tag;

@Tag("slow")
final class PostgresDirectoryTest extends DirectoryContract {

  @Override
  public Store newStore() {
    return PostgresProbe.fresh().store();
  }
}
