package io.fermata.persistence;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is left of a journal in the files of a store. */
@Tag("slow")
class SqliteErasureTest {
  private static final String MARKER = "Rumpelstiltskin";

  @TempDir Path directory;

  private Path file() {
    return directory.resolve("fermata.db");
  }

  /** The files in which the marker is found. */
  private List<String> marked() throws IOException {
    List<String> marked = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        if (new String(Files.readAllBytes(file), ISO_8859_1).contains(MARKER)) {
          marked.add(file.getFileName().toString());
        }
      }
    }
    return marked;
  }

  private static String text(Random random) {
    return (MARKER + "-" + random.nextInt(1_000_000) + " ").repeat(1 + random.nextInt(600));
  }

  @Test
  void nothingOfAForgottenJournalIsLeftInTheFilesOfAStoreInUse() throws IOException {
    Random random = new Random(17);
    try (Host host = Host.on(Store.sqlite(file()))) {
      for (int i = 0; i < 40; i++) {
        Host.Desk marked = host.openWithSnapshots("marked " + i);
        Host.Desk other = host.openWithSnapshots("other " + i);
        for (int line = 0; line < 8; line++) {
          marked.write(new Line(text(random)));
          other.write(new Line("harmless ".repeat(1 + random.nextInt(600))));
        }
        if (i % 3 == 0) {
          marked.write(new Conclusion(MARKER));
          host.sweep();
        }
        Host.await(
            host.store()
                .directory()
                .put(
                    new DirectoryEntry(
                        "marked " + i,
                        "run",
                        MARKER,
                        MARKER + i,
                        1,
                        i,
                        i,
                        Set.of(MARKER),
                        Map.of("of", MARKER))));
      }
      assertThat(marked()).isNotEmpty();

      for (int i = 0; i < 40; i++) {
        host.forget("marked " + i);
      }
      Host.await(host.store().scrub());

      assertThat(marked()).isEmpty();
      assertThat(host.open("other 7").lines()).hasSize(8);
    }
    assertThat(marked()).isEmpty();
  }

  @Test
  void whatSqliteCopiedBetweenPagesIsInNoFileThatIsRewrittenAndInNoBackup() throws IOException {
    Random random = new Random(17);
    Path copy = directory.resolve("copy.db");
    try (Host host = Host.on(Store.sqlite(file()))) {
      for (int round = 0; round < 30; round++) {
        List<CompletionStage<Long>> written = new ArrayList<>();
        for (int line = 0; line < 6; line++) {
          for (int i = 0; i < 20; i++) {
            String id = round + "." + i;
            String text = (i % 2 == 0 ? MARKER : "harmless ").repeat(5 + random.nextInt(30));
            written.add(host.desk(id).begin(new Line(text)));
          }
        }
        written.forEach(Host::await);
        for (int i = 0; i < 20; i += 2) {
          host.forget(round + "." + i);
        }
      }
      Host.await(host.store().backup(copy));
      Host.await(host.store().rewrite());

      assertThat(marked()).isEmpty();
      assertThat(host.desk("7.7").lines()).hasSize(6);
    }
    assertThat(marked()).isEmpty();
  }

  @Test
  @Tag("long")
  void aConstantReaderOfTheFileIsNamedAsWhatKeepsTheLog() throws SQLException {
    try (Host host = Host.on(Store.sqlite(file()))) {
      host.open("a").write(new Line("one"));
      try (Connection reader = DriverManager.getConnection("jdbc:sqlite:" + file());
          Statement statement = reader.createStatement()) {
        reader.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM event_journal").next();
        host.forget("a");

        assertThatThrownBy(() -> Host.await(host.store().scrub()))
            .rootCause()
            .hasMessageContaining("is still in its write-ahead log");
      }
      Host.await(host.store().scrub());
    }
  }

  @Test
  void aBackupIsAStoreAsItWasThenAndItsOwnersAlone() throws IOException {
    Path copy = directory.resolve("copy.db");
    try (Host host = Host.on(Store.sqlite(file()))) {
      host.open("a").write(new Line("one"));
      Host.await(host.store().backup(copy));
      host.desk("a").write(new Line("two"));
      assertThat(Files.getPosixFilePermissions(copy)).hasSize(2);
      try (Host restored = Host.on(Store.sqlite(copy))) {
        assertThat(restored.open("a").lines()).containsExactly("one");
        assertThat(restored.store().serverKey()).isEqualTo(host.store().serverKey());
      }
    }
  }

  @Test
  void aBackupIsMadeBesideTheProcessThatHasTheStoreOpenWithoutMakingItWait() {
    Path copy = directory.resolve("copy.db");
    try (Host host = Host.on(Store.sqlite(file()))) {
      Host.Desk desk = host.open("a");
      desk.write(new Line("one"));
      Store.sqlite(file()).backup(copy);
      desk.write(new Line("two"));
      assertThat(desk.lines()).containsExactly("one", "two");
    }
    try (Host restored = Host.on(Store.sqlite(copy))) {
      assertThat(restored.open("a").lines()).containsExactly("one");
    }
  }

  @Test
  void aBackupNeverReplacesAFileAndIsOfAStore() throws IOException {
    Path other = directory.resolve("other");
    Files.writeString(other, "of somebody else");
    Store.sqlite(file()).open().close();

    assertThatThrownBy(() -> Store.sqlite(file()).backup(other))
        .hasMessageContaining("exists already");
    assertThatThrownBy(() -> Store.sqlite(directory.resolve("none")).backup(file()))
        .hasMessageContaining("does not exist");
    assertThatThrownBy(() -> Store.sqlite(other).backup(directory.resolve("new")))
        .isInstanceOf(StoreException.class)
        .hasMessage(other + " is not a SQLite database; choose another file");
    assertThatThrownBy(() -> Store.memory().backup(directory.resolve("new")))
        .hasMessageContaining("export single runs");
    assertThat(other).hasContent("of somebody else");
    assertThat(directory.resolve("new")).doesNotExist();
    assertThat(directory.resolve("new.part")).doesNotExist();
  }

  @ParameterizedTest
  @ValueSource(strings = {"-wal", "-shm", "-journal"})
  void aBackupIsNotMadeBesideWhatIsLeftOfAnotherFileOfItsName(String suffix) throws IOException {
    Path copy = directory.resolve("copy.db");
    Path left = Files.writeString(directory.resolve("copy.db" + suffix), "of another file");
    try (Host host = Host.on(Store.sqlite(file()))) {
      host.open("a").write(new Line("one"));
      assertThatThrownBy(() -> Host.await(host.store().backup(copy)))
          .rootCause()
          .isInstanceOf(StoreException.class)
          .hasMessage(
              left
                  + " was left behind by another file of that name; move it away or choose another"
                  + " file");
      assertThat(left).hasContent("of another file");
      assertThat(copy).doesNotExist();
      Files.delete(left);
      Host.await(host.store().backup(copy));
    }
    try (Host restored = Host.on(Store.sqlite(copy))) {
      assertThat(restored.open("a").lines()).containsExactly("one");
    }
  }

  @Test
  void aBackupOfADamagedFileNamesTheDamageAndTheNextStep() throws IOException {
    try (Host host = Host.on(Store.sqlite(file()))) {
      host.open("a").writeTogether(Collections.nCopies(300, new Line("one ".repeat(300))));
    }
    byte[] bytes = Files.readAllBytes(file());
    Arrays.fill(bytes, bytes.length / 2, bytes.length, (byte) 7);
    Files.write(file(), bytes);

    assertThatThrownBy(() -> Store.sqlite(file()).backup(directory.resolve("copy.db")))
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll(file() + " is damaged (", "restore it from a backup");
    assertThat(directory.resolve("copy.db")).doesNotExist();
  }

  @Test
  void aBackupThatFailsAtItsTargetNamesTheTargetAndDoesNotBlameTheStore() throws IOException {
    Store.sqlite(file()).open().close();
    String name = "d".repeat(200);
    // Longer than the paths that SQLite opens.
    Path deep = Files.createDirectories(directory.resolve(name).resolve(name).resolve(name));
    Path copy = deep.resolve("copy.db");
    assertThatThrownBy(() -> Store.sqlite(file()).backup(copy))
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith(file() + " cannot be copied to " + copy + ": ")
        .hasMessageEndingWith("; choose another file");
    assertThat(deep).isEmptyDirectory();
  }

  @Test
  void aDamagedFileThatCannotBeRewrittenIsCalledDamagedAndNotTooLarge() throws IOException {
    try (Host host = Host.on(Store.sqlite(file()))) {
      host.open("a").writeTogether(Collections.nCopies(300, new Line("one ".repeat(300))));
    }
    try (Host host = Host.on(Store.sqlite(file()))) {
      byte[] bytes = Files.readAllBytes(file());
      Arrays.fill(bytes, bytes.length / 2, bytes.length, (byte) 7);
      Files.write(file(), bytes);
      assertThatThrownBy(() -> Host.await(host.store().rewrite()))
          .satisfies(
              failure -> assertThat(StoreProblem.of(failure)).isEqualTo(StoreProblem.DAMAGED))
          .hasStackTraceContaining("What was deleted is gone, but copies of it may be left in ")
          .hasStackTraceContaining("restore it from a backup")
          .satisfies(failure -> assertThat(failure).hasMessageNotContaining("free"));
    }
  }

  @Test
  void whatABackupThatWasKilledHasLeftIsReplacedUnlessItStillRuns() throws IOException {
    Path copy = directory.resolve("copy.db");
    Path part = Files.writeString(directory.resolve("copy.db.part"), "half of it");
    Store.sqlite(file()).open().close();
    try (FileChannel running =
        FileChannel.open(
            directory.resolve("copy.db.lock"),
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE)) {
      assertThat(running.lock()).isNotNull();
      assertThatThrownBy(() -> Store.sqlite(file()).backup(copy))
          .hasMessageContaining("copy.db is already open in this process");
      assertThat(part).hasContent("half of it");
    }
    Store.sqlite(file()).backup(copy);
    assertThat(part).doesNotExist();
    assertThat(directory.resolve("copy.db.lock")).doesNotExist();
    assertThat(Files.getPosixFilePermissions(copy)).hasSize(2);
    Store.sqlite(copy).open().close();
  }
}
