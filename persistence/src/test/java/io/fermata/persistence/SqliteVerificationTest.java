package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SqliteVerificationTest extends VerificationContract {

  @TempDir private Path directory = Path.of("");

  SqliteVerificationTest() {
    super("x'00'");
  }

  private Path file() {
    return directory.resolve("fermata.db");
  }

  @Override
  Store newStore() {
    return Store.sqlite(file());
  }

  @Override
  void execute(String... sql) {
    SqliteProbe.execute(file(), sql);
  }

  @Test
  void aZeroedPageIsFoundByAVerificationAndAtTheStart() throws IOException {
    SqliteProbe.execute(file(), "PRAGMA journal_mode = DELETE");
    try (RandomAccessFile pages = new RandomAccessFile(file().toFile(), "rw")) {
      long page =
          SqliteProbe.numbers(
                  file(), "SELECT rootpage FROM sqlite_master WHERE name = ?", "event_journal")
              .get(0);
      pages.seek((page - 1) * 4096);
      pages.write(new byte[4096]);
    }
    assertThat(damages()).isNotEmpty().anyMatch(damage -> damage.startsWith("The file is damaged"));
    assertThatThrownBy(newStore()::open)
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("is damaged", "backup");
  }
}
