package io.fermata.persistence.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.contract.Host;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StorePool;
import io.fermata.persistence.sqlite.SqliteConnections;
import io.fermata.persistence.sqlite.SqliteFile;
import io.fermata.persistence.sqlite.SqliteSchema;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.SQLiteCommitListener;
import org.sqlite.SQLiteConnection;

/** Small changes share transactions; readers and writers do not wait for each other. */
final class SqlBatchesTest {

  private static final int AT_ONCE = 400;

  @TempDir private Path directory = Path.of("");

  /** The two halves of an open file. */
  private static final class Opened implements AutoCloseable {

    private final SqlPool writer;
    private final SqlBatches<String, @Nullable Void> changes;
    private final SqlPool readers;
    private volatile boolean causedByOne;

    Opened(Path path) {
      SqliteFile file = SqliteFile.locate(path);
      SqliteSchema.prepare(file);
      writer = SqliteConnections.writing(file);
      changes =
          new SqlBatches<>(
              AT_ONCE,
              writer::transact,
              Opened::insertAll,
              failure -> causedByOne && failure instanceof StoreException);
      readers = SqliteConnections.reading(file, "readers", 2);
    }

    /** Keeps the writer busy with a row that is not committed before the latch is down. */
    CompletionStage<Boolean> hold(CountDownLatch released) throws InterruptedException {
      CountDownLatch held = new CountDownLatch(1);
      CompletionStage<Boolean> done =
          writer.transact(
              connection -> {
                insert(connection, "held");
                held.countDown();
                return pass(released);
              });
      held.await();
      return done;
    }

    List<CompletableFuture<@Nullable Void>> make(int from, int to) {
      return IntStream.range(from, to).mapToObj(key -> changes.ask("key " + key)).toList();
    }

    private static List<@Nullable Void> insertAll(Connection connection, List<String> keys)
        throws SQLException {
      for (String key : keys) {
        insert(connection, key);
      }
      return Arrays.asList(new @Nullable Void[keys.size()]);
    }

    long rows() {
      return Host.await(readers.transact(Opened::rows));
    }

    static long rows(Connection connection) throws SQLException {
      try (var select =
              connection.prepareStatement("SELECT count(*) FROM fermata_meta WHERE value = 0");
          var row = select.executeQuery()) {
        return row.getLong(1);
      }
    }

    @Override
    public void close() {
      readers.close();
      writer.close();
    }
  }

  private static boolean pass(CountDownLatch latch) {
    try {
      latch.await();
      return true;
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  private static void insert(Connection connection, String key) throws SQLException {
    try (var insert = connection.prepareStatement("INSERT INTO fermata_meta VALUES (?, 0)")) {
      insert.setString(1, key);
      insert.executeUpdate();
    }
  }

  private Opened opened() {
    return new Opened(directory.resolve("fermata.db"));
  }

  @Test
  void changesThatWaitTogetherShareTheirTransactions() throws Exception {
    AtomicInteger commits = new AtomicInteger();
    try (Opened opened = opened()) {
      Host.await(opened.writer.transact(connection -> listen(connection, commits)));
      CountDownLatch released = new CountDownLatch(1);
      CompletionStage<Boolean> held = opened.hold(released);
      var changes = opened.make(0, 3 * AT_ONCE);
      commits.set(0);
      released.countDown();

      Host.await(held);
      changes.forEach(Host::await);
      assertThat(commits).hasValue(1 + 3);
      assertThat(opened.rows()).isEqualTo(1 + 3 * AT_ONCE);
    }
  }

  @Test
  void theLoadOfAPoolCountsEveryRequestThatWaits() throws Exception {
    try (Opened opened = opened()) {
      StorePool load = opened.writer.load("write", opened.changes::waiting);
      CountDownLatch released = new CountDownLatch(1);
      CompletionStage<Boolean> held = opened.hold(released);
      var changes = opened.make(0, AT_ONCE + 3);
      var count = opened.writer.query(Opened::rows);

      assertThat(load.used()).isEqualTo(1);
      assertThat(load.idle()).isZero();
      assertThat(load.waiting()).isEqualTo(AT_ONCE + 3 + 1);

      released.countDown();
      Host.await(held);
      changes.forEach(Host::await);
      Host.await(count);
      assertThat(load.used()).isZero();
      assertThat(load.idle()).isEqualTo(1);
      assertThat(load.waiting()).isZero();
    }
  }

  @Test
  void largeRequestsGoInSmallerBatchesAndTheLargestAlone() throws Exception {
    try (Opened opened = opened()) {
      List<List<Long>> served = new ArrayList<>();
      SqlBatches<Long, Long> sized =
          new SqlBatches<>(
              new SqlBatches.Bounds<>(AT_ONCE, 10, size -> size),
              opened.writer::transact,
              (connection, together) -> {
                served.add(together);
                return together;
              },
              failure -> false);
      CountDownLatch released = new CountDownLatch(1);
      CompletionStage<Boolean> held = opened.hold(released);
      List<CompletableFuture<Long>> asked = Stream.of(4L, 6L, 1L, 99L, 2L).map(sized::ask).toList();
      released.countDown();

      Host.await(held);
      asked.forEach(Host::await);
      assertThat(served).containsExactly(List.of(4L, 6L), List.of(1L), List.of(99L), List.of(2L));
    }
  }

  private static boolean listen(Connection connection, AtomicInteger commits) throws SQLException {
    connection
        .unwrap(SQLiteConnection.class)
        .addCommitListener(
            new SQLiteCommitListener() {
              @Override
              public void onCommit() {
                commits.incrementAndGet();
              }

              @Override
              public void onRollback() {}
            });
    return true;
  }

  @Test
  void aChangeThatFailsTakesThoseOfItsTransactionWithItAndNoOthers() throws Exception {
    try (Opened opened = opened()) {
      CountDownLatch released = new CountDownLatch(1);
      opened.hold(released);
      var together = opened.make(0, 2);
      var twice = opened.make(0, 1);
      released.countDown();

      for (var change : List.of(together.get(0), together.get(1), twice.get(0))) {
        assertThatThrownBy(() -> Host.await(change))
            .rootCause()
            .hasMessageContaining("UNIQUE constraint failed");
      }
      opened.make(0, 1).forEach(Host::await);
      assertThat(opened.rows()).isEqualTo(2);
    }
  }

  @Test
  void aChangeThatIsToBlameForAFailureFailsAlone() throws Exception {
    try (Opened opened = opened()) {
      opened.causedByOne = true;
      CountDownLatch released = new CountDownLatch(1);
      opened.hold(released);
      var together = opened.make(0, 2);
      var twice = opened.make(0, 1).get(0);
      released.countDown();

      together.forEach(Host::await);
      assertThatThrownBy(() -> Host.await(twice))
          .rootCause()
          .hasMessageContaining("UNIQUE constraint failed");
      assertThat(opened.rows()).isEqualTo(1 + 2);
    }
  }

  @Test
  void whatIsServedAloneAfterAFailureIsServedBeforeLaterRequests() throws Exception {
    try (Opened opened = opened()) {
      List<String> served = new ArrayList<>();
      SqlBatches<String, String> changes =
          new SqlBatches<>(
              3,
              opened.writer::transact,
              (connection, together) -> {
                if (together.contains("bad")) {
                  throw new StoreException("bad");
                }
                served.addAll(together);
                return together;
              },
              failure -> "bad".equals(failure.getMessage()));
      CountDownLatch released = new CountDownLatch(1);
      opened.hold(released);
      List<CompletableFuture<Boolean>> asked =
          Stream.of("one", "bad", "two", "later", "last")
              .map(changes::ask)
              .map(change -> change.handle((done, failure) -> failure == null))
              .toList();
      released.countDown();

      assertThat(asked.stream().map(Host::await)).containsExactly(true, false, true, true, true);
      assertThat(served).containsExactly("one", "two", "later", "last");
    }
  }

  @Test
  void whatFailsInTheMiddleIsUndoneAndWhatComesLaterIsNoPartOfIt() throws Exception {
    try (Opened opened = opened()) {
      // SQLite undoes a transaction by itself where there is no room, and the limit goes with the
      // connection.
      Host.await(opened.writer.query(SqlBatchesTest::leaveNoRoom));
      List<Boolean> made =
          opened.make(0, 10 * AT_ONCE).stream()
              .map(change -> change.handle((done, failure) -> failure == null))
              .map(Host::await)
              .toList();

      assertThat(made).contains(true, false);
      assertThat(opened.rows()).isEqualTo(made.stream().filter(each -> each).count());
    }
  }

  private static boolean leaveNoRoom(Connection connection) throws SQLException {
    try (var statement = connection.createStatement()) {
      return statement.execute("PRAGMA max_page_count = 1");
    }
  }

  @Test
  void whenTooManyWaitOneMoreIsRefused() throws Exception {
    try (Opened opened = opened()) {
      CountDownLatch released = new CountDownLatch(1);
      opened.hold(released);
      var waiting = opened.make(0, SqlBatches.MOST_WAITING);
      var refused = opened.make(-1, 0).get(0);
      assertThatThrownBy(() -> Host.await(refused))
          .rootCause()
          .isInstanceOf(StoreException.class)
          .hasMessage("20000 requests are waiting for the store; retry later");
      released.countDown();
      waiting.forEach(Host::await);
    }
  }

  @Test
  void changesThatWaitAreMadeBeforeTheFileIsClosed() {
    Opened opened = opened();
    var changes = opened.make(0, 2_000);
    opened.close();
    changes.forEach(Host::await);
    try (Opened again = opened()) {
      assertThat(again.rows()).isEqualTo(2_000);
    }
  }

  @Test
  void aChangeAfterTheFileIsClosedFails() {
    Opened opened = opened();
    opened.close();
    for (int time = 0; time < 2; time++) {
      var late = opened.make(0, 1).get(0);
      assertThatThrownBy(() -> Host.await(late)).isInstanceOf(AssertionError.class);
      assertThat(late).isCompletedExceptionally();
    }
  }

  @Test
  void aReaderSeesWhatIsCommittedAndWaitsForNoWriter() throws Exception {
    try (Opened opened = opened()) {
      CountDownLatch released = new CountDownLatch(1);
      CompletionStage<Boolean> held = opened.hold(released);
      assertThat(opened.rows()).isZero();
      released.countDown();
      Host.await(held);
      assertThat(opened.rows()).isEqualTo(1);
    }
  }

  @Test
  void aLongReadHoldsUpNoWriterAndSeesOneState() throws Exception {
    try (Opened opened = opened()) {
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch released = new CountDownLatch(1);
      CompletionStage<Long> change =
          opened.readers.transact(
              connection -> {
                long before = Opened.rows(connection);
                begun.countDown();
                pass(released);
                return Opened.rows(connection) - before;
              });
      begun.await();
      opened.make(0, 1).forEach(Host::await);
      assertThat(opened.rows()).isEqualTo(1);
      released.countDown();
      assertThat(Host.await(change)).isZero();
    }
  }

  @Test
  void aReaderCannotWrite() {
    try (Opened opened = opened()) {
      CompletionStage<Boolean> write =
          opened.readers.transact(
              connection -> {
                insert(connection, "read");
                return true;
              });
      assertThatThrownBy(() -> Host.await(write)).rootCause().hasMessageContaining("readonly");
    }
  }
}
