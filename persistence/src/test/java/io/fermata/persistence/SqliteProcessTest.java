package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.ChildJvm;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.JournalProcess;
import io.fermata.persistence.contract.Note;
import io.fermata.persistence.spi.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
