package io.fermata.persistence.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.SqlContract;
import io.fermata.persistence.SqliteProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Appointment;
import io.fermata.persistence.contract.Note.Conclusion;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.contract.Note.Plan;
import io.fermata.persistence.directory.DirectoryQuery;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.pekko.StoreSetup;
import io.fermata.persistence.spi.Due;
import io.fermata.persistence.spi.JournalTags;
import io.fermata.persistence.spi.NewEntry;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.persistence.sql.OpenSqlStore;
import io.fermata.persistence.sql.SqlDirectory;
import io.fermata.persistence.sql.SqlEntries;
import io.fermata.persistence.sql.SqlNames;
import io.fermata.persistence.sql.SqlObsoleteTags;
import io.fermata.persistence.sql.SqlPool;
import io.fermata.persistence.sql.SqlShards;
import io.fermata.persistence.sql.SqlUpkeep;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.apache.pekko.actor.ActorSystem;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
final class SqliteStoreTest extends SqlContract {

  private static final long NEVER = Long.MAX_VALUE;

  @TempDir private Path directory = Path.of("");
  private int files;

  @Override
  protected Store newStore() {
    return Store.sqlite(directory.resolve("fermata-" + ++files + ".db"));
  }

  @Test
  void anEmptyFileIsNoStoreUntilAHostCreatesOneInIt() throws Exception {
    Path empty = Files.createFile(directory.resolve("empty.db"));
    Store store = Store.sqlite(empty);

    assertThat(store.exists()).isFalse();

    store.open().close();
    assertThat(store.exists()).isTrue();
  }

  private Path file() {
    return directory.resolve("fermata-1.db");
  }

  @Override
  protected List<Long> records(String persistenceId) {
    return SqliteProbe.numbers(
        file(),
        "SELECT sequence_number FROM event_journal WHERE persistence_id = ? ORDER BY 1",
        persistenceId);
  }

  @Override
  protected List<Long> snapshots(String persistenceId) {
    return SqliteProbe.numbers(
        file(), "SELECT sequence_number FROM snapshot WHERE persistence_id = ?", persistenceId);
  }

  @Test
  void everyCommitOfTheLiveConnectionIsSyncedToTheWriteAheadLog() {
    SqlPool database = SqliteConnections.writing(prepared());
    try {
      assertThat(pragma(database, "journal_mode")).isEqualTo("wal");
      assertThat(pragma(database, "synchronous")).isEqualTo("2");
      assertThat(pragma(database, "busy_timeout")).isEqualTo("2000");
      assertThat(pragma(database, "foreign_keys")).isEqualTo("1");
    } finally {
      database.close();
    }
  }

  private SqliteFile prepared() {
    SqliteFile located = SqliteFile.locate(file());
    SqliteSchema.prepare(located);
    return located;
  }

  private SqliteBackend backend() {
    SqliteFile located = SqliteFile.locate(file());
    FileClaim claim = FileClaim.take(located);
    InodeClaim inode = InodeClaim.take(prepared());
    return SqliteBackend.connect(located, claim, inode, later -> {});
  }

  private static String pragma(SqlPool database, String name) {
    return Host.await(
        database.transact(
            connection -> {
              try (var statement = connection.createStatement();
                  var row = statement.executeQuery("PRAGMA " + name)) {
                return row.getString(1);
              }
            }));
  }

  @Test
  void aNewFileIsItsOwnersAlone() throws Exception {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("private"));
      for (String suffix : List.of("", "-wal", "-shm", ".lock")) {
        assertThat(
                PosixFilePermissions.toString(
                    Files.getPosixFilePermissions(Path.of(file() + suffix))))
            .as(suffix)
            .isEqualTo("rw-------");
      }
    }
  }

  @Test
  void aDamagedPageStopsTheTimersTheWorkAndTheSweepOfItsOwnSessionsAlone() throws Exception {
    List<String> all = new ArrayList<>();
    try (Host host = Host.on(store())) {
      for (int i = 0; i < 60; i++) {
        host.open("waits " + i).write(new Appointment(7));
        host.open("works " + i).write(new Plan("to do"));
        host.open("ended " + i).write(new Line("one"), new Conclusion("over", 7, NEVER));
        host.open("expired " + i).write(new Line("one"), new Conclusion("over", 7, 7));
        all.addAll(List.of("waits " + i, "works " + i, "ended " + i, "expired " + i));
      }
    }
    try (Host host = Host.on(store())) {
      zero(middleLeaf("event_journal"));
      List<String> intact = all.stream().filter(id -> canBeRead(host, id)).toList();
      assertThat(intact).hasSizeBetween(all.size() / 2, all.size() - 4);

      assertThat(host.due(10, 1_000))
          .extracting(Due::persistenceId)
          .containsExactlyElementsOf(of(intact, "waits"));
      assertThat(host.due(10, 3)).hasSize(3);
      assertThat(host.working()).containsExactlyInAnyOrderElementsOf(of(intact, "works"));

      int swept = of(intact, "ended").size() + of(intact, "expired").size();
      assertThat(host.sweep(10)).isEqualTo(swept);
      for (String id : of(intact, "ended")) {
        assertThat(host.read(id, 1, 10)).containsExactly("over");
      }
      for (String id : of(intact, "expired")) {
        assertThat(host.read(id, 1, 10)).isEmpty();
      }
      assertThat(host.sweep(10)).isZero();
      assertThat(host.open("new").write(new Line("one")).lines()).containsExactly("one");
    }
  }

  private static List<String> of(List<String> ids, String kind) {
    return ids.stream().filter(id -> id.startsWith(kind)).toList();
  }

  private static boolean canBeRead(Host host, String id) {
    return Host.await(host.store().read(id, 1, 10).handle((read, failure) -> failure == null));
  }

  private long middleLeaf(String table) {
    List<Long> leaves =
        SqliteProbe.numbers(
            file(),
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno",
            table);
    return leaves.get(leaves.size() / 2);
  }

  /** By another process, as one that closes the file gives its locks up. */
  private void zero(long page) throws Exception {
    Process written =
        new ProcessBuilder(
                "dd",
                "if=/dev/zero",
                "of=" + file(),
                "bs=4096",
                "count=1",
                "seek=" + (page - 1),
                "conv=notrunc")
            .redirectErrorStream(true)
            .start();
    assertThat(written.waitFor()).isZero();
  }

  @Test
  void damageThatIsFoundBeforeTheTimeOfACheckIsUpRefusesTheFile() throws SQLException {
    SqliteProbe.execute(
        file(),
        "CREATE TABLE word (text TEXT)",
        "INSERT INTO word VALUES (NULL)",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)"
            + " INSERT INTO word SELECT 'w' || i FROM n",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE word (text TEXT NOT NULL)'");
    SqliteFile located = SqliteFile.locate(file());
    try (Connection connection = located.reading().getConnection()) {
      assertThatThrownBy(() -> SqliteVerification.quickly(located, connection, 0))
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll("is damaged (NULL value in word.text)", "backup");
    }
  }

  @Test
  void closingLeavesOneFileAndAnIdleLock() {
    try (Host host = Host.on(store())) {
      host.open("a").write(new Line("one"));
      assertThat(Path.of(file() + "-wal")).exists();
    }
    assertThat(directory).isDirectoryNotContaining("glob:**-wal").isNotEmptyDirectory();
    assertThat(Path.of(file() + ".lock")).isEmptyFile();
  }

  @Test
  void aThreadThatIsInterruptedClosesAStoreToo() {
    OpenStore open = store().open();
    Thread.currentThread().interrupt();
    open.close();
    assertThat(Thread.interrupted()).isTrue();
    store().open().close();
  }

  @Override
  public long tags() {
    return SqliteProbe.numbers(file(), "SELECT count(*) FROM event_tag WHERE tag <> ?", "").get(0);
  }

  @Test
  void whatIsDueIsReadFromTheIndexInItsOrder() {
    prepared();
    Map.of(
            SqlUpkeep.DUE, "(tag>? AND tag<?)",
            SqlObsoleteTags.EXAMINE, "((tag,event_id)>(?,?) AND tag<?)")
        .forEach(
            (scan, range) ->
                assertThat(SqliteProbe.plan(file(), SqlShards.UNDIVIDED.scan(scan.select())))
                    .noneMatch(step -> step.startsWith("SCAN") || step.contains("TEMP B-TREE"))
                    .anyMatch(step -> step.contains("event_tag_by_tag " + range)));
  }

  @Test
  void workingAndSweepReadIndexesOnly() {
    prepared();
    for (String statement :
        List.of(
            SqlShards.UNDIVIDED.scan(SqlUpkeep.WORKING.select()),
            SqliteJournal.PROMISED,
            SqlUpkeep.POSTPONE,
            SqlShards.UNDIVIDED.scan(SqlUpkeep.ENDS.select()),
            SqlShards.UNDIVIDED.scan(SqlUpkeep.SOME_TAG),
            SqlObsoleteTags.DELETE)) {
      assertThat(SqliteProbe.plan(file(), statement))
          .noneMatch(
              step -> step.matches("SCAN (tag|entry|later|old|promised|until|event_|snapshot).*"));
    }
  }

  @Test
  void aSliceIsARangeOfTheIndexAndAJournalIsForgottenByIt() {
    prepared();
    for (String statement : List.of(SqlEntries.FORWARDS, SqlEntries.BACKWARDS)) {
      assertThat(SqliteProbe.plan(file(), statement))
          .singleElement()
          .asString()
          .startsWith("SEARCH event_journal USING INDEX")
          .contains("(persistence_id=? AND sequence_number");
    }
    for (String statement :
        List.of(
            SqlEntries.DELETE_EVENTS,
            SqlEntries.DELETE_SNAPSHOTS,
            SqlEntries.DELETE_ENTRY,
            SqlDirectory.DELETE,
            SqlDirectory.DELETE_TAGS,
            SqlDirectory.TOUCH,
            SqlDirectory.GET)) {
      assertThat(SqliteProbe.plan(file(), statement))
          .as(statement)
          .allMatch(step -> step.startsWith("SEARCH") && step.contains("(persistence_id=?"));
    }
  }

  @Test
  void journalsAreFoundByTheIndexOfTheirNames() {
    prepared();
    for (String table : List.of("event_journal", "snapshot", "directory")) {
      for (String statement : List.of(SqlNames.NEXT, SqlNames.WITHIN)) {
        assertThat(SqliteProbe.plan(file(), statement.formatted(table)))
            .as(table)
            .allMatch(step -> step.startsWith("SEARCH"))
            .anyMatch(step -> step.contains("(persistence_id>?"));
      }
    }
  }

  @Test
  void aClosedStoreSaysSo() {
    OpenStore open = store().open();
    open.close();
    open.close();
    for (CompletionStage<?> late :
        List.of(
            open.sweep(0),
            open.unfinished("", 1),
            open.due(1, 1),
            open.read("a", 1, 1),
            open.readBack("a", 1, 1),
            open.delete(List.of("a")),
            open.journals("a"),
            open.scrub(),
            open.rewrite(),
            open.backup(Path.of("copy")),
            open.directory().get("a"),
            open.directory().list(DirectoryQuery.of("thread")),
            open.directory().put(DirectoryContract.entry("a")),
            open.directory().remove("a"))) {
      assertThatThrownBy(() -> Host.await(late))
          .hasRootCauseInstanceOf(StoreException.class)
          .rootCause()
          .hasMessage("sqlite:" + file() + " is closed; open the store again");
    }
  }

  @Test
  void sweepsInFlightAreFinishedWhenTheStoreCloses() {
    OpenStore open = store().open();
    List<CompletionStage<Integer>> sweeps =
        IntStream.range(0, 50).mapToObj(sweep -> open.sweep(0)).toList();
    open.close();
    sweeps.forEach(sweep -> assertThat(Host.await(sweep)).isZero());
  }

  @Test
  void aWriteWaitsForASmallPartOfALargeSweepOnly() {
    SqliteBackend backend = backend();
    try (Host host = Host.over(new OpenSqlStore("held", new byte[0], backend))) {
      OpenStore store = host.store();
      host.open("a").write(new Line("one"), new Line("two"));
      List<StoredEntry> entries = Host.await(store.read("a", 1, 2));
      for (int i = 0; i < 400; i++) {
        // Of each third the sweep keeps the end, the others are forgotten, or have stale tags.
        String last = i % 3 == 0 ? JournalTags.sweep(1) : JournalTags.forget(1);
        Host.await(
            store.importJournal(
                "ended " + i,
                List.of(
                    new NewEntry(entries.get(0), 5, Set.of(JournalTags.UNFINISHED)),
                    new NewEntry(entries.get(1), 5, Set.of(last)))));
      }
      List<String> order = Collections.synchronizedList(new ArrayList<>());
      // The sweep does not begin before the write waits, too.
      CompletableFuture<Boolean> asked = new CompletableFuture<>();
      CompletableFuture<Boolean> held = backend.writer().query(connection -> asked.join());
      CompletionStage<Integer> sweep = store.sweep(1).whenComplete((n, f) -> order.add("sweep"));
      CompletionStage<?> write =
          store.directory().mark(1).whenComplete((n, f) -> order.add("write"));
      asked.complete(true);
      Host.await(held);
      Host.await(write);
      assertThat(Host.await(sweep)).isEqualTo(400);
      assertThat(order).containsExactly("write", "sweep");
      assertThat(tags()).isZero();
      assertThat(Host.await(store.journals("", 1_000))).hasSize(1 + 134);
    }
  }

  @Test
  void aSweepExaminesSomeUnfinishedWorkAndTheNextGoesOn() {
    try (Host host = Host.on(store())) {
      OpenStore store = host.store();
      host.open("a").write(new Line("one"), new Line("two"));
      List<StoredEntry> entries = Host.await(store.read("a", 1, 2));
      NewEntry plan = new NewEntry(entries.get(0), 5, Set.of(JournalTags.UNFINISHED));
      IntStream.range(0, 700)
          .mapToObj(i -> store.importJournal("busy " + i, List.of(plan)))
          .toList()
          .forEach(Host::await);
      NewEntry done = new NewEntry(entries.get(1), 5, Set.of());
      Host.await(store.importJournal("finished", List.of(plan, done)));
      host.sweep();
      assertThat(tags()).isEqualTo(701);
      host.sweep();
      assertThat(tags()).isEqualTo(700);

      host.open("busy 0").write(new Line("finished"));
      host.sweep();
      assertThat(tags()).isEqualTo(699);
    }
  }

  @Test
  void aSweepExaminesUnfinishedWorkOnlyAfterAWrite() {
    SqliteBackend backend = backend();
    StepMeter meter = new StepMeter(sql -> Long.MAX_VALUE);
    String examine = SqlShards.UNDIVIDED.scan(SqlObsoleteTags.EXAMINE.select()).strip();
    try (Host host = Host.over(new OpenSqlStore("metered", new byte[0], meter.over(backend)))) {
      host.sweep();
      host.open("a").write(new Plan("one"), new Plan("two"));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
      meter.transactions();
      host.sweep();
      assertThat(meter.transactions())
          .singleElement()
          .satisfies(idle -> assertThat(idle.statements()).doesNotContainKey(examine));

      List<StoredEntry> entries = Host.await(host.store().read("a", 1, 2));
      NewEntry plan = new NewEntry(entries.get(0), 5, Set.of(JournalTags.UNFINISHED));
      NewEntry done = new NewEntry(entries.get(1), 5, Set.of());
      Host.await(host.store().importJournal("imported", List.of(plan, done)));
      host.sweep();
      assertThat(tags()).isEqualTo(1);
    }
  }

  @Test
  void anActorSystemWithoutTheStoreLearnsHowToGetIt() {
    assertThatThrownBy(
            () -> {
              var system = ActorSystem.create("forgetful");
              try {
                StoreSetup.of(system);
              } finally {
                system.terminate();
              }
            })
        .hasMessageContaining("store.setup()");
  }

  @Test
  void aFailedStatementRollsEverythingBack() throws SQLException {
    SqlPool database = SqliteConnections.writing(prepared());
    try {
      assertThatThrownBy(
              () ->
                  Host.await(
                      database.transact(
                          connection -> {
                            try (var statement = connection.createStatement()) {
                              statement.execute("DELETE FROM fermata_meta");
                              return statement.execute("nonsense");
                            }
                          })))
          .hasRootCauseInstanceOf(SQLException.class);
    } finally {
      database.close();
    }
    assertThat(SqliteProbe.numbers(file(), "SELECT count(*) FROM fermata_meta WHERE key <> ?", ""))
        .containsExactly(2L);
  }
}
