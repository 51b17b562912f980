package io.fermata.persistence;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Notebook;
import io.fermata.persistence.directory.Directory;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.OpenStore;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of every schema there ever was, as {@code sqlite3 .dump} wrote them down. */
@Tag("slow")
final class SqliteMigrationTest {

  @TempDir private Path directory = Path.of("");

  private Path file(String dump) throws IOException {
    Path file = directory.resolve("fermata.db");
    try (InputStream written = Objects.requireNonNull(getClass().getResourceAsStream(dump), dump)) {
      SqliteProbe.execute(file, new String(written.readAllBytes(), UTF_8).split(";\n"));
    }
    return file;
  }

  @Test
  void aFileOfVersionOneKeepsItsJournalsAndGetsADirectory() throws Exception {
    Path file = file("schema-1.sql");
    try (Host host = Host.on(Store.sqlite(file))) {
      assertThat(host.store().serverKey()).startsWith(0xf2, 0x03, 0x75).hasSize(32);
      assertThat(host.working()).containsExactly("at work");
      assertThat(host.due(5, 10)).containsExactly(new Due("waiting", 5));
      assertThat(host.read("idle", 1, 10)).containsExactly("one", "two");
      assertThat(host.open("at work").lines()).containsExactly("three", "four");
      assertThat(host.openWithSnapshots("long").write(new Line("line 5")).content())
          .isEqualTo(
              new Notebook.Content(List.of("line 1", "line 2", "line 3", "line 4", "line 5"), 5));
      Host.await(host.store().directory().put(DirectoryContract.entry("idle")));
    }
    try (OpenStore again = Store.sqlite(file).open()) {
      assertThat(Host.await(again.directory().get("idle")))
          .contains(DirectoryContract.entry("idle"));
    }
    assertThat(
            SqliteProbe.numbers(
                file, "SELECT value FROM fermata_meta WHERE key = ?", "schema_version"))
        .containsExactly(3L);
  }

  @Test
  void aFileOfVersionTwoKeepsItsDirectoryAndListsHowThingsStand() throws Exception {
    try (OpenStore open = Store.sqlite(file("schema-2.sql")).open()) {
      Directory directory = open.directory();
      DirectoryQuery vip = DirectoryQuery.of("thread").tagged("vip");
      assertThat(Host.await(directory.list(vip)).entries())
          .extracting(DirectoryEntry::persistenceId, DirectoryEntry::statusName)
          .containsExactly(tuple("idle", ""));
      assertThat(Host.await(directory.marked())).isZero();
      assertThat(Host.await(open.newest())).isPositive();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"schema-1.sql", "schema-2.sql"})
  void aMigratedFileHasTheTablesAndIndexesOfANewOne(String old) throws Exception {
    Path migrated = file(old);
    Path created = directory.resolve("new.db");
    for (Path file : List.of(migrated, created)) {
      Store.sqlite(file).open().close();
    }
    assertThat(SqliteProbe.schema(migrated)).isNotEmpty().isEqualTo(SqliteProbe.schema(created));
  }
}
