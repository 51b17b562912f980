package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.disk.SmallDisk;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a store says of itself when it cannot be written. */
public final class StoreHealthTest {

  @TempDir private Path directory = Path.of("");

  private Path file() {
    return directory.resolve("fermata.db");
  }

  /** Why a store cannot be written now. */
  public static Optional<StoreProblem> problem(OpenStore store) {
    return Host.await(
        store
            .ping()
            .handle(
                (done, failure) ->
                    failure == null ? Optional.empty() : Optional.of(StoreProblem.of(failure))));
  }

  @Test
  void aStoreThatCanBeWrittenHasNoProblem() {
    try (OpenStore store = Store.sqlite(file()).open();
        OpenStore memory = Store.memory().open()) {
      assertThat(problem(store)).isEmpty();
      assertThat(problem(store)).isEmpty();
      assertThat(store.lost().toCompletableFuture()).isNotDone();
      assertThat(problem(memory)).isEmpty();
    }
  }

  @Test
  @Tag("tools")
  void aFullDiskIsSaidToBeUntilThereIsRoomAgain() throws IOException {
    try (SmallDisk disk = SmallDisk.mount(directory)) {
      try (Host host = Host.on(Store.sqlite(disk.files().resolve("fermata.db")))) {
        host.open("a").write(new Line("before"));
        disk.fill();
        assertThat(problem(host.store())).contains(StoreProblem.FULL);
        assertThatThrownBy(() -> Host.await(host.store().delete(List.of("a"))))
            .hasStackTraceContaining(
                "The disk of %s is full; free space on it", disk.files().resolve("fermata.db"));
        disk.free();
        assertThat(problem(host.store())).isEmpty();
        host.open("b").write(new Line("after"));
      }
    }
  }

  @Test
  @Tag("tools")
  void aBackupToAFullDiskSaysSoAndLeavesNothingBehind() throws IOException {
    Store store = Store.sqlite(file());
    store.open().close();
    try (SmallDisk disk = SmallDisk.mount(directory)) {
      Path files = disk.files();
      Path room = Files.write(files.resolve("room"), new byte[8_192]);
      disk.fill();
      assertThatThrownBy(() -> store.backup(files.resolve("copy.db")))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("copy.db cannot be created: No space left on device");
      Files.delete(room);
      assertThatThrownBy(() -> store.backup(files.resolve("copy.db")))
          .as("there is room for the lock alone")
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll("cannot be copied to", "full; choose a file on another disk");
      assertThat(files).isEmptyDirectory();
      disk.free();
      store.backup(files.resolve("copy.db"));
      assertThat(files).isDirectoryContaining("glob:**/copy.db");
    }
  }

  @Test
  @Tag("tools")
  void aBackupWhoseDiskFillsLeavesNothingBehind() throws IOException {
    Store store = Store.sqlite(file());
    try (Host host = Host.on(store);
        SmallDisk disk = SmallDisk.mount(directory)) {
      host.open("a").writeTogether(Collections.nCopies(3_000, new Line("x".repeat(10_000))));
      Path files = disk.files();
      assertThatThrownBy(() -> store.backup(files.resolve("copy.db")))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("full; choose a file on another disk");
      assertThat(files).isEmptyDirectory();
    }
  }

  @Test
  @Tag("tools")
  void aFileThatCannotBeRewrittenOnAFullDiskSaysWhatIsLeftAndHowMuchSpaceItNeeds()
      throws IOException {
    try (SmallDisk disk = SmallDisk.mount(directory);
        Host host = Host.on(Store.sqlite(disk.files().resolve("fermata.db")))) {
      host.open("a").writeTogether(Collections.nCopies(200, new Line("x".repeat(10_000))));
      host.forget("a");
      host.open("b").writeTogether(Collections.nCopies(200, new Line("y".repeat(10_000))));
      Host.await(host.store().scrub());
      disk.fill();
      assertThatThrownBy(() -> Host.await(host.store().rewrite()))
          .rootCause()
          .hasMessageContaining("full");
      assertThatThrownBy(() -> Host.await(host.store().rewrite()))
          .satisfies(failure -> assertThat(StoreProblem.of(failure)).isEqualTo(StoreProblem.FULL))
          .hasStackTraceContaining("What was deleted is gone, but copies of it may be left in ")
          .hasStackTraceContaining("free as much space as it takes");
      disk.free();
      Host.await(host.store().rewrite());
      assertThat(host.open("b").lines()).hasSize(200);
    }
  }

  @Test
  void aStoreWhoseFileWasDeletedOrReplacedIsLost() throws IOException {
    Path other = Files.write(directory.resolve("other.db"), new byte[0]);
    for (boolean replaced : new boolean[] {false, true}) {
      try (OpenStore store = Store.sqlite(file()).open()) {
        assertThat(problem(store)).isEmpty();
        Path aside = Files.move(file(), directory.resolve("aside.db"));
        if (replaced) {
          Files.move(other, file(), StandardCopyOption.REPLACE_EXISTING);
        }
        assertThat(problem(store)).contains(StoreProblem.GONE);
        assertThat(Host.await(store.lost())).isEqualTo(StoreProblem.GONE);
        Files.move(aside, file(), StandardCopyOption.REPLACE_EXISTING);
        assertThat(problem(store)).as("nothing is written after a loss").isPresent();
      }
    }
  }

  @Test
  void aFileThatAnotherProgramLocksIsSaidToBe() throws SQLException {
    try (OpenStore store = Store.sqlite(file()).open()) {
      try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file());
          Statement statement = other.createStatement()) {
        statement.execute("BEGIN IMMEDIATE");
        assertThat(problem(store)).contains(StoreProblem.LOCKED);
      }
      assertThat(problem(store)).isEmpty();
    }
  }
}
