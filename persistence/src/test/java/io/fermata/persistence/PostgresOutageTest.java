package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.disk.SmallDisk;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.directory.DirectoryEntry;
import io.fermata.persistence.postgres.PostgresClaimTest;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** What a host does while its server is away, slow, full or read-only, and afterwards. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("long")
final class PostgresOutageTest {

  private static final int WRITERS = 24;

  /** How many commits linger. */
  private static final String LINGERING =
      "SELECT count(*) FROM pg_stat_activity"
          + " WHERE wait_event = 'PgSleep' AND datname = current_database()";

  private PostgresServer server = PostgresServer.shared();

  @BeforeAll
  void startServer() {
    server = PostgresServer.start();
  }

  @AfterAll
  void stopServer() {
    server.close();
  }

  /** Notebooks that are written in all the time, and what of it was acknowledged. */
  private static final class Load implements AutoCloseable {

    private final Host host;
    private final Map<String, List<String>> acknowledged = new HashMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private final CountDownLatch done = new CountDownLatch(1);

    Load(Host host) {
      this.host = host;
      for (int writer = 0; writer < WRITERS; writer++) {
        String id = "writer " + writer;
        Thread thread = new Thread(() -> write(id), id);
        threads.add(thread);
        thread.start();
      }
    }

    private void write(String id) {
      Host.Desk desk = host.open(id);
      for (int line = 0; done.getCount() > 0; line++) {
        String text = id + " line " + line;
        if (written(desk, text)) {
          acknowledged(id, text);
        } else {
          // A notebook that could not write has closed.
          desk = host.open(id);
        }
      }
    }

    private void acknowledged(String id, String text) {
      synchronized (acknowledged) {
        acknowledged.computeIfAbsent(id, first -> new ArrayList<>()).add(text);
      }
    }

    private static boolean written(Host.Desk desk, String text) {
      return desk.begin(Duration.ofSeconds(2), new Line(text))
          .handle((done, failed) -> failed == null)
          .toCompletableFuture()
          .join();
    }

    int count() {
      synchronized (acknowledged) {
        return acknowledged.values().stream().mapToInt(List::size).sum();
      }
    }

    void awaitMore(int more) {
      int enough = count() + more;
      PostgresClaimTest.await(() -> count() >= enough);
    }

    @Override
    public void close() {
      done.countDown();
      for (Thread thread : threads) {
        try {
          thread.join();
        } catch (InterruptedException interrupted) {
          throw new AssertionError(interrupted);
        }
      }
    }
  }

  private static void nothingAcknowledgedIsLost(Store store, Load load) {
    try (Host host = Host.on(store)) {
      load.acknowledged.forEach(
          (id, lines) ->
              assertThat(host.open(id).lines())
                  .as(id)
                  .containsSubsequence(lines)
                  .doesNotHaveDuplicates());
    }
  }

  private static String failure(CompletionStage<?> stage) {
    return stage.handle((done, failed) -> String.valueOf(failed)).toCompletableFuture().join();
  }

  @Test
  void aServerThatIsKilledUnderLoadLosesNothingAcknowledgedAndTheHostContinuesByItself() {
    PostgresProbe database = PostgresProbe.of(server);
    Load load;
    try (Host host = Host.on(database.store());
        Load running = new Load(host)) {
      load = running;
      for (int time = 0; time < 3; time++) {
        running.awaitMore(1_000);
        server.kill();
        PostgresClaimTest.await(
            () ->
                failure(host.store().unfinished("", 1)).contains("cannot be reached at 127.0.0.1"));
        server.restart();
      }
      running.awaitMore(1_000);
    }
    nothingAcknowledgedIsLost(database.store(), load);
  }

  @Test
  void aSessionWhoseNewestEntryAStandbyLacksIsRefusedOnceAndThenContinuesWithoutAGap() {
    PostgresProbe database = PostgresProbe.of(server);
    List<String> damage = new ArrayList<>();
    try (Host host = Host.on(database.store())) {
      Host.Desk early = host.open("early").write(new Line("replicated"));
      Host.Desk late = host.open("late").write(new Line("replicated"));
      Path standby = server.copy();
      PostgresClaimTest.untilWritten(host, "back");
      early.write(new Line("lost"));
      late.write(new Line("lost"));
      server.killAndLose(standby);
      CompletionStage<Long> meanwhile = early.attempt(new Line("meanwhile"));
      server.restart();
      PostgresClaimTest.untilWritten(host, "other");
      for (CompletionStage<Long> refused : List.of(meanwhile, late.attempt(new Line("later")))) {
        assertThatThrownBy(() -> Host.await(refused))
            .hasRootCauseInstanceOf(Host.RefusedException.class);
      }
      for (String id : List.of("early", "late")) {
        assertThat(host.open(id).write(new Line("next")).lines())
            .containsExactly("replicated", "next");
      }
    }
    database.store().verify(damage::add);
    assertThat(damage).isEmpty();
  }

  @Test
  void connectionsThatAreCutUnderLoadLoseNothingAcknowledged() {
    PostgresProbe database = PostgresProbe.of(server);
    Load load;
    try (Cable cable = Cable.to(server);
        Host host = Host.on(Store.postgres(cable.through(database.address())));
        Load running = new Load(host)) {
      load = running;
      for (int time = 0; time < 3; time++) {
        running.awaitMore(500);
        server.cut(database.database());
        running.awaitMore(500);
        cable.cut();
        PostgresClaimTest.await(
            () ->
                failure(host.store().unfinished("", 1)).contains("cannot be reached at 127.0.0.1"));
        cable.mend();
      }
      running.awaitMore(500);
    }
    nothingAcknowledgedIsLost(database.store(), load);
  }

  @Test
  void whileTheServerIsAwayEveryCallFailsAtOnceAndSaysWhy() {
    PostgresProbe database = PostgresProbe.of(server);
    try (Cable cable = Cable.to(server);
        Host host = Host.on(Store.postgres(cable.through(database.address())))) {
      host.open("a").write(new Line("before"));
      cable.cut();
      PostgresClaimTest.await(
          () -> failure(host.store().unfinished("", 1)).contains("cannot be reached"));
      List<CompletableFuture<String>> calls =
          IntStream.range(0, 500)
              .mapToObj(
                  call ->
                      CompletableFuture.supplyAsync(
                          () ->
                              failure(
                                  call % 2 == 0
                                      ? host.store().read("a", 1, 1)
                                      : host.store().sweep(1))))
              .toList();
      assertThat(StoreHealthTest.problem(host.store())).contains(StoreProblem.AWAY);
      calls.forEach(
          call ->
              assertThat(call.join()).contains("cannot be reached", "retrying every second since"));
      cable.mend();
      PostgresClaimTest.untilWritten(host, "b");
      assertThat(host.open("a").lines()).containsExactly("before");
    }
  }

  @Test
  void aServerThatBecomesReadOnlyIsSaidToBeAndWrittenAgainAfterwards() {
    PostgresProbe database = PostgresProbe.of(server);
    PostgresProbe other = PostgresProbe.of(server);
    try (Host host = Host.on(database.store())) {
      host.open("a").write(new Line("before"));
      server.set("default_transaction_read_only", "on");
      PostgresClaimTest.await(() -> failure(host.store().sweep(1)).contains("accepts no writes"));
      assertThat(StoreHealthTest.problem(host.store())).contains(StoreProblem.READ_ONLY);
      assertThatThrownBy(() -> other.store().open())
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll(other.address(), "accepts no writes", "end its read-only mode");
      writable();
      PostgresClaimTest.untilWritten(host, "b");
      assertThat(StoreHealthTest.problem(host.store())).isEmpty();
      assertThat(host.open("a").lines()).containsExactly("before");
    }
  }

  private void writable() {
    server.execute(
        "postgres",
        "SET default_transaction_read_only = off",
        "ALTER SYSTEM RESET default_transaction_read_only",
        "SELECT pg_reload_conf()");
  }

  /**
   * Later writes wait for it: Pekko's journal replies to writes in the order in which they came.
   */
  @Test
  void aSlowCommitHoldsUpNobodyWhoReads() {
    PostgresProbe database = PostgresProbe.of(server);
    try (Host host = Host.on(database.store())) {
      host.open("quick").write(new Line("before"));
      database.execute(
          """
          CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_sleep(8); RETURN NEW;
          END $$
          """,
          """
          CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON event_journal
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.persistence_id = 'slow')
          EXECUTE FUNCTION linger()
          """);
      CompletionStage<Long> slow = host.open("slow").begin(new Line("late"));
      PostgresClaimTest.await(() -> database.number(LINGERING) == 1);
      assertThat(host.read("quick", 1, 2)).containsExactly("before");
      assertThat(host.open("quick").lines()).containsExactly("before");
      assertThat(slow.toCompletableFuture()).isNotDone();
      assertThat(database.records("slow")).isEmpty();
      Host.await(slow);
      assertThat(database.records("slow")).containsExactly(1L);
    }
  }

  @Tag("tools")
  @Test
  void aFullDiskRefusesWritesAndTheHostContinuesWhenThereIsRoomAgain(@TempDir Path directory)
      throws Exception {
    try (SmallDisk disk = SmallDisk.mount(directory);
        PostgresServer own = PostgresServer.start()) {
      PostgresProbe database = new PostgresProbe(own, own.newDatabaseOn(disk.files()));
      Load load;
      try (Host host = Host.on(database.store());
          Load running = new Load(host)) {
        load = running;
        running.awaitMore(200);
        disk.fill();
        PostgresClaimTest.await(() -> refused(host));
        disk.free();
        PostgresClaimTest.await(() -> !refused(host));
        running.awaitMore(200);
      }
      nothingAcknowledgedIsLost(database.store(), load);
    }
  }

  /** Entries that fill what room is left. */
  private static boolean refused(Host host) {
    DirectoryEntry large =
        new DirectoryEntry(
            "journal " + System.nanoTime(),
            "thread",
            "",
            "",
            1,
            1,
            1,
            Set.of(),
            IntStream.range(0, 30)
                .boxed()
                .collect(
                    Collectors.toMap(
                        number -> "attribute " + number,
                        number -> UUID.randomUUID().toString().repeat(25))));
    return failure(host.store().directory().put(large)).contains("No space left on device");
  }
}
