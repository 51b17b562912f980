package io.fermata.persistence.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.pekko.JournalTip;
import io.fermata.persistence.pekko.Serialized;
import io.fermata.persistence.pekko.SerializedEntry;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.persistence.sqlite.SqliteConnections;
import io.fermata.persistence.sqlite.SqliteFile;
import io.fermata.persistence.sqlite.SqliteJournal;
import io.fermata.persistence.sqlite.SqliteSchema;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import org.apache.pekko.persistence.SnapshotSelectionCriteria;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What sessions ask for before and while they write. */
final class SqlJournalsTest {

  @TempDir private Path directory = Path.of("");

  @Test
  void aJournalThatBeginsIsNotLookedForUntilItsSessionHasAsked() {
    try (Spied database = new Spied(directory.resolve("fresh.db"))) {
      SqlJournals journals = new SqlJournals(database, () -> {});
      journals.expectNew("new");
      assertThat(Host.await(journals.snapshot("new", SnapshotSelectionCriteria.latest())).isEmpty())
          .isTrue();
      assertThat(Host.await(journals.tip("new"))).isEqualTo(JournalTip.NONE);
      assertThat(database.reads).hasValue(0);

      Host.await(journals.append("new", List.of(record("new", 1)), 0));
      assertThat(Host.await(journals.tip("new")).seq()).isEqualTo(1);
      assertThat(database.reads).hasValue(1);
    }
  }

  @Test
  void aDeletionCanWaitForAllThatIsBeingWritten() {
    try (Spied database = new Spied(directory.resolve("under-way.db"))) {
      SqlJournals journals = new SqlJournals(database, () -> {});
      CompletableFuture<@Nullable Void> before = new CompletableFuture<>();
      database.before = before;
      var first = journals.append("busy", List.of(record("busy", 1)), 0);
      var second = journals.append("busy", List.of(record("busy", 2)), 0);
      CompletableFuture<@Nullable Void> written = journals.written(List.of("busy", "idle"));
      assertThat(written).isNotDone();
      assertThat(journals.written(List.of("idle"))).isDone();

      before.complete(null);
      Host.await(written);
      Host.await(first);
      Host.await(second);
      Host.await(journals.append("busy", List.of(record("busy", 3)), 0));
      assertThat(journals.written(List.of("busy"))).isDone();
    }
  }

  @Test
  void onlyTheWritesThatFollowAnEndOfADatabaseThatWasReplacedMeanwhileAreRefused() {
    try (Spied database = new Spied(directory.resolve("replaced.db"))) {
      SqlJournals journals = new SqlJournals(database, () -> {});
      CompletableFuture<@Nullable Void> before = new CompletableFuture<>();
      database.before = before;
      var old = journals.append("old", List.of(record("old", 2)), journals.incarnation());
      database.incarnation++;
      var young = journals.append("young", List.of(record("young", 1)), journals.incarnation());
      before.complete(null);
      Host.await(young);
      assertThatThrownBy(() -> Host.await(old)).hasMessageContaining("replaced");
      assertThat(Host.await(journals.tip("old"))).isEqualTo(JournalTip.NONE);
      assertThat(Host.await(journals.tip("young")).seq()).isEqualTo(1);
    }
  }

  @Test
  void aWriteThatFailedIsNotInFlightAnyMore() {
    try (Spied database = new Spied(directory.resolve("failed.db"))) {
      SqlJournals journals = new SqlJournals(database, () -> {});
      Host.await(journals.append("busy", List.of(record("busy", 1)), 0));
      var again = journals.append("busy", List.of(record("busy", 1)), 0).toCompletableFuture();
      assertThatThrownBy(() -> Host.await(again)).hasMessageContaining("UNIQUE");
      assertThat(journals.written(List.of("busy"))).isDone();
    }
  }

  private static SerializedEntry record(String persistenceId, long seq) {
    return new SerializedEntry(
        persistenceId,
        seq,
        "writer",
        0,
        Set.of(),
        new Serialized("x".getBytes(StandardCharsets.UTF_8), 1, ""),
        0,
        null);
  }

  /** A file that tells who reads it, and can be slow to write. */
  private static final class Spied implements SqlBackend, AutoCloseable {

    final AtomicInteger reads = new AtomicInteger();
    @Nullable CompletableFuture<@Nullable Void> before;
    long incarnation;
    private final SqlPool pool;

    Spied(Path path) {
      SqliteFile file = SqliteFile.locate(path);
      SqliteSchema.prepare(file);
      pool = SqliteConnections.writing(file);
    }

    @Override
    public Dialect dialect() {
      return Dialect.SQLITE;
    }

    @Override
    public long incarnation() {
      return incarnation;
    }

    @Override
    public SqlJournal journal() {
      return new SqliteJournal();
    }

    @Override
    public <T> CompletableFuture<T> append(Transactions.Work<T> work) {
      CompletableFuture<@Nullable Void> first = before;
      return first == null
          ? pool.transact(work)
          : first.thenCompose(released -> pool.transact(work));
    }

    @Override
    public Transactions journalWriter() {
      return pool;
    }

    @Override
    public Transactions journalReader() {
      return new Transactions() {
        @Override
        public <T> CompletableFuture<T> transact(Work<T> work) {
          return pool.transact(work);
        }

        @Override
        public <T> CompletableFuture<T> query(Work<T> work) {
          reads.incrementAndGet();
          return pool.query(work);
        }
      };
    }

    @Override
    public Transactions writer() {
      return pool;
    }

    @Override
    public Transactions upkeep() {
      return pool;
    }

    @Override
    public Transactions reader() {
      return pool;
    }

    @Override
    public Transactions searches() {
      return pool;
    }

    @Override
    public List<StorePool> pools(IntSupplier appends, IntSupplier wakes, IntSupplier changes) {
      return List.of(pool.load("all", appends, wakes, changes));
    }

    @Override
    public CompletionStage<StoreProblem> lost() {
      return new CompletableFuture<>();
    }

    @Override
    public CompletableFuture<@Nullable Void> scrub() {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<@Nullable Void> backup(Path file) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {
      pool.close();
    }
  }
}
