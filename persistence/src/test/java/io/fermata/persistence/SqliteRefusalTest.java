package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.fermata.persistence.contract.ChildJvm;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class SqliteRefusalTest {

  @TempDir private Path directory = Path.of("");

  private static void refuses(Path file, String... reasons) {
    assertThatThrownBy(() -> Store.sqlite(file).open())
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith(file.toString())
        .hasMessageContainingAll(reasons);
  }

  /** As in a container whose file system is read-only. */
  @Test
  void aDirectoryThatTakesNoLibraryOfSqliteIsNamed() {
    Path file = directory.resolve("fermata.db");
    String options = "JAVA_TOOL_OPTIONS=-Dorg.sqlite.tmpdir=" + directory.resolve("missing");
    assertThat(ChildJvm.refusal(file, "env", options))
        .startsWith(file + " cannot be opened: SQLite's library")
        .contains("" + directory.resolve("missing"), "name another directory with");
  }

  @Test
  void aDirectoryIsNoStore() {
    refuses(directory, "is a directory; name a file in it", "fermata.db");
  }

  @Test
  void aMissingDirectoryIsNamed() {
    Path missing = directory.resolve("missing");
    refuses(missing.resolve("fermata.db"), "there is no directory " + missing, "create it");
  }

  @Test
  void aDirectoryThatCannotBeWrittenIsNamed() {
    Path unwritable = Path.of("/proc");
    assumeThat(unwritable).isDirectory();
    refuses(unwritable.resolve("fermata.db"), "directory /proc is not writable", "grant write");
  }

  /** As after a first start with sudo; what the link names may not even root write. */
  @Test
  void aLockThatMayNotBeWrittenIsNamedInsteadOfItsDirectory() throws Exception {
    Path unwritable = Path.of("/proc/sys/kernel/osrelease");
    assumeThat(unwritable).isRegularFile();
    Path file = directory.resolve("fermata.db");
    Store.sqlite(file).open().close();
    Path lock = directory.resolve("fermata.db.lock");
    Files.delete(lock);
    Files.createSymbolicLink(lock, unwritable);
    assertThatThrownBy(() -> Store.sqlite(file).open())
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith(
            file + " cannot be used: this process may not read and write " + lock)
        .hasMessageContaining("change the owner or the permissions")
        .hasMessageNotContainingAny("created", "directory");
  }

  @Test
  void aFileThatIsNoDatabaseIsLeftAlone() throws Exception {
    Path letter = Files.writeString(directory.resolve("letter.txt"), "Dear reader, ".repeat(100));
    refuses(letter, "is not a SQLite database; choose another file");
    assertThat(letter).hasContent("Dear reader, ".repeat(100));
  }

  @Test
  void theDatabaseOfAnotherProgramIsLeftAlone() throws Exception {
    Path foreign = directory.resolve("music.db");
    SqliteProbe.execute(foreign, "CREATE TABLE songs (title TEXT)");
    byte[] before = Files.readAllBytes(foreign);
    refuses(foreign, "of another program (it has the tables songs); choose another file");
    assertThat(foreign).hasBinaryContent(before);
  }

  @Test
  void aTableOfAnotherProgramThatIsNamedAsOneOfFermataIsLeftAlone() {
    Path foreign = directory.resolve("music.db");
    SqliteProbe.execute(foreign, "CREATE TABLE fermata_meta (key TEXT, pitch REAL)");
    refuses(foreign, "of another program (it has the tables fermata_meta); choose another file");
  }

  @Test
  void aFileOfANewerFermataIsLeftAlone() {
    Path file = directory.resolve("fermata.db");
    Store.sqlite(file).open().close();
    SqliteProbe.execute(file, "UPDATE fermata_meta SET value = 99 WHERE key = 'schema_version'");
    refuses(file, "written by a newer Fermata (schema 99", "upgrade Fermata");
  }

  @Test
  void aFileThatLostItsVersionIsDamaged() {
    Path file = directory.resolve("fermata.db");
    Store.sqlite(file).open().close();
    SqliteProbe.execute(file, "DELETE FROM fermata_meta");
    refuses(file, "is damaged", "restore it from a backup");
  }

  @Test
  void aLinkToNowhereIsNamed() throws Exception {
    Path link =
        Files.createSymbolicLink(directory.resolve("link.db"), directory.resolve("gone.db"));
    refuses(link, "it is a link to", "gone.db, which is missing");
  }

  @Test
  void aNameThatSqliteWouldMisreadIsRefused() {
    refuses(directory.resolve("what?.db"), "choose a name without it");
  }

  @Test
  void anEmptyFileBecomesAStore() throws Exception {
    Path file = Files.createFile(directory.resolve("fermata.db"));
    Store.sqlite(file).open().close();
    assertThat(file).isNotEmptyFile();
  }

  @Test
  void aSecondHostInTheSameProcessIsRefusedAndDoesNotBreakTheFirstOnesLock() {
    Path file = directory.resolve("fermata.db");
    try (OpenStore first = Store.sqlite(file).open()) {
      refuses(file, "is already open in this process (" + ProcessHandle.current().pid());
      refuses(file, "is already open in this process");
      assertThat(first.serverKey()).hasSize(32);
      assertThat(ChildJvm.refusal(file))
          .isEqualTo(
              file
                  + " is in use by process "
                  + ProcessHandle.current().pid()
                  + "; stop that process or choose another file");
    }
    Store.sqlite(file).open().close();
  }

  @Test
  void anotherPathToTheSameFileIsTheSameStore() throws Exception {
    Path file = directory.resolve("fermata.db");
    Path linkedDirectory =
        Files.createSymbolicLink(directory.resolve("elsewhere"), directory.toAbsolutePath());
    try (OpenStore first = Store.sqlite(file).open()) {
      assertThat(first.describe()).isEqualTo("sqlite:" + file);
      Path link = Files.createSymbolicLink(directory.resolve("link.db"), file);
      refuses(link, "is already open");
      refuses(linkedDirectory.resolve("fermata.db"), "is already open");
      refuses(Path.of("").toAbsolutePath().relativize(file.toAbsolutePath()), "is already open");
    }
  }

  @Test
  void aRefusedFileIsFreeAgain() throws Exception {
    Path file = Files.writeString(directory.resolve("fermata.db"), "not a database ".repeat(100));
    refuses(file, "is not a SQLite database");
    Files.delete(file);
    Store.sqlite(file).open().close();
  }
}
