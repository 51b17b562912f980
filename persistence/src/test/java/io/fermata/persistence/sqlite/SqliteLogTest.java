package io.fermata.persistence.sqlite;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.Transactions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The write-ahead log of a SQLite file: how long it keeps what, and how large it becomes. */
@Tag("slow")
final class SqliteLogTest {
  private static final String SECRET = "Rumpelstiltskin";

  @TempDir private Path directory = Path.of("");
  private final Queue<Runnable> later = new ConcurrentLinkedQueue<>();
  private Path file = Path.of("");

  @BeforeEach
  void name() {
    file = directory.resolve("fermata.db");
  }

  private OpenSqlStore open() {
    return SqliteStore.open(file, later::add);
  }

  /** A moment passes in which nothing is written. */
  private void idle() {
    List<Runnable> due = new ArrayList<>(later);
    later.removeAll(due);
    due.forEach(Runnable::run);
  }

  /**
   * Moments pass until the log is empty; a reader may be in the way, as is each connection of the
   * store itself that is opened in its first moments.
   */
  private void quiet() throws Exception {
    for (int i = 0; i < 6_000 && (!later.isEmpty() || Files.size(log()) > 0); i++) {
      idle();
      Thread.sleep(10);
    }
  }

  private Path log() {
    return directory.resolve("fermata.db-wal");
  }

  private boolean has(Path path) throws IOException {
    return new String(Files.readAllBytes(path), ISO_8859_1).contains(SECRET);
  }

  @Test
  void anAnswerThatWasSweptIsInNoFileAMomentLater() throws Exception {
    OpenSqlStore store = open();
    try (Host host = Host.over(store)) {
      host.open("a").write(new Line(SECRET)).write(new Conclusion("over"));
      host.open("b").write(new Line("other"));
      assertThat(has(log())).isTrue();
      assertThat(host.sweep()).isEqualTo(1);

      quiet();

      assertThat(has(log())).isFalse();
      assertThat(has(file)).isFalse();
      assertThat(host.open("b").lines()).containsExactly("other");
    }
  }

  @Test
  void anEmptyLogIsLeftAlone() throws Exception {
    OpenSqlStore store = open();
    try (Host host = Host.over(store)) {
      host.open("a").write(new Line("one"));
      quiet();
      assertThat(host.sweep()).isZero();
      assertThat(host.due(0, 1)).isEmpty();
      assertThat(later).isEmpty();
      assertThat(log()).isEmptyFile();
      host.open("b").write(new Line("two"));
      assertThat(later).hasSize(1);
    }
  }

  @Test
  void aLogThatAReaderHoldsIsEmptiedWhenItHasEnded() throws Exception {
    OpenSqlStore store = open();
    try (Host host = Host.over(store)) {
      try (Connection reader = DriverManager.getConnection("jdbc:sqlite:" + file);
          Statement statement = reader.createStatement()) {
        host.open("a").write(new Line("one"));
        reader.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM event_journal").next();
        host.open("a").write(new Line("two"));
        idle();
        Host.await(host.store().newest());
        assertThat(log()).isNotEmptyFile();
        reader.rollback();
      }
      while (Files.size(log()) > 0) {
        idle();
        Host.await(host.store().scrub().exceptionally(busy -> null));
      }
    }
  }

  @Test
  void theLogStaysBoundedWhileOthersReadAllTheTime() throws Exception {
    AtomicBoolean over = new AtomicBoolean();
    Line large = new Line("x".repeat(400_000));
    long largest = 0;
    try (Host host = Host.over(open())) {
      Host.Desk desk = host.open("a").write(large);
      List<Thread> readers = new ArrayList<>();
      // One of two snapshots is always open.
      for (int i = 0; i < 2; i++) {
        Thread reader = new Thread(() -> read(over), "reader " + i);
        reader.start();
        readers.add(reader);
      }
      try {
        for (int i = 0; i < 250; i++) {
          desk.write(large);
          largest = Math.max(largest, Files.size(log()));
        }
      } finally {
        over.set(true);
        for (Thread reader : readers) {
          reader.join();
        }
      }
    }
    assertThat(largest).isLessThan(3 * SqliteLog.BOUND);
  }

  private static CompletionStage<?> put(OpenSqlStore store, String name) {
    return store
        .directory()
        .put(new DirectoryEntry(name, "run", "ann", "flow", 1, 1, 1, Set.of(), Map.of()));
  }

  private void read(AtomicBoolean over) {
    try (Connection reader = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement statement = reader.createStatement()) {
      reader.setAutoCommit(false);
      while (!over.get()) {
        try (ResultSet rows = statement.executeQuery("SELECT count(*) FROM event_journal")) {
          rows.next();
        }
        Thread.sleep(5);
        reader.rollback();
      }
    } catch (SQLException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void aLargeLogThatACrashLeftIsEmptiedAtTheStart() throws Exception {
    Path crashed = Files.createDirectory(directory.resolve("crashed"));
    try (Host host = Host.over(open())) {
      for (int i = 0; i < 20; i++) {
        host.desk("a").write(new Line("x".repeat(100_000)));
      }
      for (String part : List.of("fermata.db", "fermata.db-wal")) {
        Files.copy(
            directory.resolve(part), crashed.resolve(part), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    assertThat(crashed.resolve("fermata.db-wal")).isNotEmptyFile();
    file = crashed.resolve("fermata.db");
    try (OpenSqlStore store = open()) {
      Path log = crashed.resolve("fermata.db-wal");
      assertThat(!Files.exists(log) || Files.size(log) == 0).isTrue();
      assertThat(Host.await(store.read("a", 1, 100))).hasSize(20);
    }
  }

  @Test
  void aLockOfAnotherProgramIsNamedAndWaitedForOnce() throws Exception {
    try (OpenSqlStore store = open();
        Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
        Statement statement = other.createStatement()) {
      statement.execute("BEGIN IMMEDIATE");
      long begun = System.nanoTime();
      assertThatThrownBy(() -> Host.await(put(store, "a")))
          .rootCause()
          .hasMessageContaining("SQLITE_BUSY");
      long first = System.nanoTime() - begun;
      for (int i = 0; i < 10; i++) {
        CompletableFuture<?> call = put(store, "entry " + i).toCompletableFuture();
        assertThatThrownBy(call::join)
            .hasMessageContaining(
                "Another program holds the write lock of " + file + " (SQLITE_BUSY)")
            .hasMessageContaining("nothing of this request was written")
            .satisfies(
                failure -> assertThat(StoreProblem.of(failure)).isEqualTo(StoreProblem.LOCKED));
      }
      assertThat(System.nanoTime() - begun - first)
          .as("ten calls, once the lock is known, and the first")
          .isLessThan(4 * first);

      statement.execute("ROLLBACK");
      Host.await(put(store, "a"));
    }
  }

  private static int busyTimeout(Transactions writer) {
    return Host.await(
        writer.query(
            connection -> {
              try (Statement statement = connection.createStatement();
                  ResultSet row = statement.executeQuery("PRAGMA busy_timeout")) {
                return row.getInt(1);
              }
            }));
  }

  @Test
  void theWaitForALockIsBackToNormalAfterwards() throws Exception {
    SqliteFile located = SqliteFile.locate(file);
    FileClaim claim = FileClaim.take(located);
    located.createPrivately();
    InodeClaim inode = InodeClaim.take(located);
    byte[] key = SqliteSchema.prepare(located);
    SqliteBackend backend = SqliteBackend.connect(located, claim, inode, later::add);
    try (OpenSqlStore store = new OpenSqlStore("test", key, backend)) {
      int normal = busyTimeout(backend.writer());
      try (Connection other = DriverManager.getConnection("jdbc:sqlite:" + file);
          Statement statement = other.createStatement()) {
        statement.execute("BEGIN IMMEDIATE");
        assertThatThrownBy(() -> Host.await(store.ping())).rootCause().isNotNull();
        assertThat(busyTimeout(backend.writer())).isLessThan(normal);
      }
      Host.await(store.ping());
      assertThat(busyTimeout(backend.writer())).isEqualTo(normal);
    }
  }
}
