package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.ChildJvm;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.JournalProcess;
import io.fermata.persistence.contract.Note;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class SqliteProcessTest {

  private static final int FOREVER = Integer.MAX_VALUE;

  @TempDir private Path directory = Path.of("");

  @Test
  void aSecondProcessOnTheSameFileIsRefusedWithItsProcessId() {
    Path file = directory.resolve("fermata.db");
    try (ChildJvm holder = ChildJvm.start(file, FOREVER)) {
      assertThat(holder.line()).isEqualTo(JournalProcess.OPENED);
      assertThatThrownBy(() -> Store.sqlite(file).open())
          .isInstanceOf(StoreException.class)
          .hasMessage(
              file
                  + " is in use by process "
                  + holder.pid()
                  + "; stop that process or choose another file");
    }
  }

  @Test
  void aHardLinkToAFileOfAnotherProcessIsRefused() throws IOException {
    Path file = directory.resolve("fermata.db");
    try (ChildJvm holder = ChildJvm.start(file, FOREVER)) {
      assertThat(holder.line()).isEqualTo(JournalProcess.OPENED);
      Path link = Files.createLink(directory.resolve("link.db"), file);
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> Store.sqlite(link).open())
            .isInstanceOf(StoreException.class)
            .hasMessageContainingAll("link.db is open in another process", "under another name");
      }
      assertThat(holder.acknowledged(3)).hasSize(3);
    }
  }

  @Test
  void aHardLinkToAFileOfThisProcessIsRefusedAndItsLocksStay() throws IOException {
    Path file = directory.resolve("fermata.db");
    try (Host host = Host.on(Store.sqlite(file))) {
      host.open("a").write(new Note.Line("one"));
      Path link = Files.createLink(directory.resolve("link.db"), file);
      assertThatThrownBy(() -> Store.sqlite(link).open())
          .hasMessageContainingAll("link.db is open in this process", "under another name");
      Store.sqlite(file).verify(damage -> {});
      Host.await(host.store().backup(directory.resolve("copy.db")));
      assertThat(ChildJvm.refusal(link)).contains("is open in another process");
      host.open("b").write(new Note.Line("two"));
    }
    Files.delete(directory.resolve("fermata.db"));
    try (Host host = Host.on(Store.sqlite(directory.resolve("link.db")))) {
      assertThat(host.open("b").lines()).containsExactly("two");
    }
  }

  @Test
  @Tag("tools")
  void aFileThatIsMountedUnderAnotherNameIsRefused() throws IOException {
    Path file = directory.resolve("fermata.db");
    try (Host host = Host.on(Store.sqlite(file))) {
      host.open("a").write(new Note.Line("one"));
      try (BindMount mount = BindMount.of(file, directory.resolve("mounted.db"))) {
        assertThatThrownBy(() -> Store.sqlite(mount.name()).open())
            .isInstanceOf(StoreException.class)
            .hasMessageContainingAll("mounted.db is open in this process", "under another name");
        assertThat(ChildJvm.refusal(mount.name()))
            .contains("mounted.db is open in another process", "under another name");
      }
      host.open("b").write(new Note.Line("two"));
    }
    try (Host host = Host.on(Store.sqlite(file))) {
      assertThat(host.open("a").lines()).containsExactly("one");
      assertThat(host.open("b").lines()).containsExactly("two");
    }
  }

  @Test
  void nothingIsWrittenToAFileThatWasDeletedOrReplaced() throws IOException {
    Path file = directory.resolve("fermata.db");
    Path other = Files.write(directory.resolve("other.db"), new byte[0]);
    for (boolean replaced : new boolean[] {false, true}) {
      try (Host host = Host.on(Store.sqlite(file))) {
        host.open("a").write(new Note.Line("one"));
        if (replaced) {
          Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
        } else {
          Files.delete(file);
        }
        assertThatThrownBy(() -> host.sweep(1))
            .rootCause()
            .hasMessageContainingAll("was deleted or replaced", "start again");
        assertThatThrownBy(() -> Host.await(host.store().directory().mark(1)))
            .rootCause()
            .hasMessageContaining("was deleted or replaced");
      }
      for (String part : List.of("fermata.db", "fermata.db-wal", "fermata.db-shm")) {
        Files.deleteIfExists(directory.resolve(part));
      }
    }
  }

  @Test
  void nothingIsWrittenOnceTheLogWasDeletedOrReplacedAndWhatWasAcknowledgedStays()
      throws IOException {
    for (String log : List.of("-wal", "-shm")) {
      for (boolean replaced : new boolean[] {false, true}) {
        Path file = directory.resolve("fermata" + log + replaced + ".db");
        Path lost = Path.of(file + log);
        try (Host host = Host.on(Store.sqlite(file))) {
          host.open("a").write(new Note.Line("one"));
          assertThat(StoreHealthTest.problem(host.store())).isEmpty();
          Files.delete(lost);
          if (replaced) {
            Files.write(lost, new byte[0]);
          }
          assertThat(StoreHealthTest.problem(host.store())).contains(StoreProblem.LOG_GONE);
          assertThat(Host.await(host.store().lost())).isEqualTo(StoreProblem.LOG_GONE);
          assertThatThrownBy(() -> host.sweep(1))
              .rootCause()
              .hasMessageContainingAll(file.toString(), "-wal or -shm was deleted", "start again");
        }
        try (Host host = Host.on(Store.sqlite(file))) {
          assertThat(host.open("a").write(new Note.Line("two")).lines())
              .containsExactly("one", "two");
          assertThat(Store.sqlite(file).verify(damage -> {}).intact()).isTrue();
        }
      }
    }
  }

  @Test
  @Tag("faults")
  void aProcessWhoseLogWasDeletedAcknowledgesNoMoreAndLosesNothing() {
    Path file = directory.resolve("fermata.db");
    List<Long> acknowledged = new ArrayList<>();
    try (ChildJvm writer = ChildJvm.start(file, FOREVER)) {
      acknowledged.addAll(writer.acknowledged(300));
      assertThat(Path.of(file + "-wal").toFile().delete()).isTrue();
      acknowledged.addAll(writer.acknowledged(5_000));
      writer.kill();
      writer.exitCode();
    }
    try (Host host = Host.on(Store.sqlite(file))) {
      assertThat(acknowledged).hasSizeLessThan(5_300);
      assertThat(host.open("a").lines()).hasSizeGreaterThanOrEqualTo(acknowledged.size());
    }
  }

  @Test
  @Tag("faults")
  void whatAKilledProcessAcknowledgedIsThereAndItsLockIsFree() {
    Path file = directory.resolve("fermata.db");
    List<Long> acknowledged = new ArrayList<>();
    try (ChildJvm writer = ChildJvm.start(file, FOREVER)) {
      acknowledged.addAll(writer.acknowledged(500));
      writer.kill();
      acknowledged.addAll(writer.acknowledged(FOREVER));
      assertThat(writer.exitCode()).isEqualTo(128 + 9);
    }
    try (Host host = Host.on(Store.sqlite(file))) {
      List<String> lines = host.open("a").lines();
      assertThat(lines)
          .hasSizeGreaterThanOrEqualTo(acknowledged.size())
          .startsWith(
              LongStream.rangeClosed(1, acknowledged.size())
                  .mapToObj(line -> "line " + line)
                  .toArray(String[]::new));
      host.open("b").write(new Note.Line("the lock is free"));
    }
  }

  @Test
  @Tag("tools")
  void everyAcknowledgedWriteWasSyncedBefore() throws Exception {
    int writes = 50;
    Path trace = directory.resolve("trace");
    requireStrace();
    try (ChildJvm writer =
        ChildJvm.start(
            directory.resolve("fermata.db"),
            writes,
            "strace",
            "-f",
            "-y",
            "-e",
            "trace=fsync,fdatasync,write",
            "-o",
            trace.toString())) {
      assertThat(writer.acknowledged(writes)).hasSize(writes);
      assertThat(writer.exitCode()).isZero();
    }
    assertThat(syncsBeforeEachAcknowledgement(trace))
        .hasSize(writes)
        .allSatisfy(syncs -> assertThat(syncs).isPositive());
  }

  private static void requireStrace() {
    try {
      new ProcessBuilder("strace", "-V").start().destroy();
    } catch (IOException missing) {
      throw new AssertionError(
          "This test proves that writes are synced and needs strace; install it", missing);
    }
  }

  private static List<Integer> syncsBeforeEachAcknowledgement(Path trace) throws Exception {
    List<Integer> counts = new ArrayList<>();
    int syncs = 0;
    for (String line : Files.readAllLines(trace)) {
      if (line.contains("sync(") && line.contains("-wal>")) {
        syncs++;
      } else if (line.contains("write(1<") && line.contains(JournalProcess.ACKNOWLEDGED)) {
        counts.add(syncs);
        syncs = 0;
      }
    }
    return counts;
  }
}
