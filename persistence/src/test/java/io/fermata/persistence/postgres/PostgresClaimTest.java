package io.fermata.persistence.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.PostgresProbe;
import io.fermata.persistence.Store;
import io.fermata.persistence.StoreHealthTest;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.memory.DirectoryContract;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.spi.StoreProblem;
import io.fermata.postgres.Cable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** One host writes a schema, and the others learn which. */
@Tag("slow")
public final class PostgresClaimTest {

  private final PostgresProbe database = PostgresProbe.fresh();

  @Test
  void aSecondHostIsRefusedWithTheNameOfTheFirst() {
    try (OpenStore first = database.store().open()) {
      assertThatThrownBy(() -> database.store().open())
          .isInstanceOf(StoreException.class)
          .hasMessageStartingWith(
              database.address()
                  + " is in use by process "
                  + ProcessHandle.current().pid()
                  + " on ")
          .hasMessageContainingAll(" since 2", "; stop that host, or name another schema");
      assertThat(first.serverKey()).hasSize(32);
    }
    database.store().open().close();
  }

  @Test
  void twoSchemasOfADatabaseAreTwoStores() {
    Store one = Store.postgres(database.address() + "?currentSchema=one");
    Store two = Store.postgres(database.address() + "?currentSchema=two");
    try (Host first = Host.on(one);
        Host second = Host.on(two)) {
      first.open("a").write(new Line("in the first"));
      second.open("a").write(new Line("in the second"));
    }
    try (Host second = Host.on(two)) {
      assertThat(second.open("a").lines()).containsExactly("in the second");
    }
  }

  @Test
  void ofHostsThatStartAtOnceOnAnEmptyDatabaseOneCreatesTheTablesAndTheOthersAreRefused() {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Store store = Store.postgres(database.address() + "?currentSchema=new");
      List<CompletableFuture<OpenStore>> starts = new ArrayList<>();
      for (int host = 0; host < 4; host++) {
        starts.add(CompletableFuture.supplyAsync(store::open, threads));
      }
      List<OpenStore> opened = new ArrayList<>();
      for (CompletableFuture<OpenStore> start : starts) {
        try {
          opened.add(start.join());
        } catch (CompletionException refused) {
          assertThat(refused).hasCauseInstanceOf(StoreException.class);
          assertThat(refused).hasMessageContaining("is in use by");
        }
      }
      assertThat(opened).hasSize(1);
      byte[] key = opened.get(0).serverKey();
      opened.get(0).close();
      try (OpenStore next = store.open()) {
        assertThat(next.serverKey()).isEqualTo(key);
      }
      assertThat(database.numbers("SELECT 1 FROM new.fermata_meta WHERE key = 'schema_version'"))
          .hasSize(1);
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  @Tag("long")
  void aHostWhoseClaimWasTakenOverNeverWritesAgain() {
    try (Cable cable = Cable.to(database.server());
        Host old = Host.on(Store.postgres(cable.through(database.address())))) {
      Host.Desk desk = old.open("a").write(new Line("of the old host"));
      cable.halt();
      CompletionStage<Long> running = desk.begin(Duration.ofSeconds(8), new Line("under way"));
      endClaim();
      try (Host next = Host.on(database.store())) {
        next.open("a").write(new Line("of the new host"));
        cable.mend();

        assertThatThrownBy(() -> Host.await(running)).isInstanceOf(AssertionError.class);
        await(() -> failure(old.store().sweep(1)).contains("this host no longer writes; stop it"));
        assertThat(failure(old.store().unfinished("", 1))).contains("was taken over by process ");
        assertThat(Host.await(old.store().lost())).isEqualTo(StoreProblem.TAKEN_OVER);
        assertThat(StoreHealthTest.problem(old.store())).contains(StoreProblem.TAKEN_OVER);
        assertThat(next.store().lost().toCompletableFuture()).isNotDone();
        assertThatThrownBy(
                () -> Host.await(old.open("b").begin(Duration.ofSeconds(2), new Line("late"))))
            .isInstanceOf(AssertionError.class);
        next.open("c").write(new Line("more"));
      }
    }
    try (Host host = Host.on(database.store())) {
      assertThat(host.open("a").lines()).containsExactly("of the old host", "of the new host");
      assertThat(host.open("b").lines()).isEmpty();
    }
  }

  @Test
  void aHostIsLostAlsoIfAnotherOfItsConnectionsNoticesThatItWasTakenOver() throws SQLException {
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    PostgresClaim claim = PostgresClaim.take(address);
    try (Connection other = PostgresSource.forClaim(address).getConnection()) {
      new PostgresSchema(address, other).putOwner(PostgresOwner.ofThisProcess());
      assertThatThrownBy(() -> PostgresSource.of(address, claim).getConnection())
          .hasMessageContaining("was taken over by process ");
      assertThat(Host.await(claim.over())).isEqualTo(StoreProblem.TAKEN_OVER);
    } finally {
      claim.release();
    }
  }

  private static String failure(CompletionStage<?> stage) {
    return stage.handle((done, failed) -> String.valueOf(failed)).toCompletableFuture().join();
  }

  /** As the server does when it finds the machine of a host gone. */
  private void endClaim() {
    database.execute(
        """
        SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """);
  }

  /**
   * The process of the server that holds the claim; 0 for none. One that is ended holds it still.
   */
  private long claimant() {
    return database.number(
        """
        SELECT coalesce(max(pid), 0) FROM pg_locks
        WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """);
  }

  @Test
  @Tag("long")
  void aHostWhoseConnectionsWereCutTakesItsClaimAgain() {
    try (Host host = Host.on(database.store())) {
      host.open("a").write(new Line("one"));
      database.server().cut(database.database());
      untilWritten(host, "b");
      long cut = claimant();
      endClaim();
      await(() -> claimant() != 0 && claimant() != cut);
      assertThatThrownBy(() -> database.store().open()).hasMessageContaining("is in use by");
      assertThat(host.open("a").write(new Line("two")).lines()).containsExactly("one", "two");
    }
  }

  @Test
  void aHostWhoseClaimWasCutTakesItAgainAndLogsIt() {
    Logger logger = (Logger) LoggerFactory.getLogger(PostgresClaim.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try (Host host = Host.on(database.store())) {
      endClaim();
      await(() -> !logged.list.isEmpty());
      untilWritten(host, "a");
    } finally {
      logger.detachAppender(logged);
    }
    assertThat(logged.list)
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getFormattedMessage()).contains("was closed", "holds it again");
              assertThat(event.getThrowableProxy()).isNull();
            });
  }

  public static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited long enough").isLessThan(end);
      try {
        Thread.sleep(100);
      } catch (InterruptedException interrupted) {
        throw new AssertionError(interrupted);
      }
    }
  }

  /** Tries to write until it succeeds; a notebook that could not write has closed. */
  public static void untilWritten(Host host, String id) {
    await(
        () ->
            host.open(id)
                .begin(Duration.ofSeconds(5), new Line("there"))
                .handle((written, failed) -> failed == null)
                .toCompletableFuture()
                .join());
  }

  @Test
  void aStartThatTheServerEndsInTheMiddleSaysSo() throws SQLException {
    PostgresAddress address = PostgresAddress.parse(database.address(), Map.of());
    try (Connection connection = PostgresSource.forClaim(address).getConnection()) {
      Connection ended =
          (Connection)
              Proxy.newProxyInstance(
                  Connection.class.getClassLoader(),
                  new Class<?>[] {Connection.class},
                  (proxy, method, arguments) -> {
                    if (method.getName().equals("commit")) {
                      PostgresClaim.text(
                          connection, "SELECT pg_terminate_backend(pg_backend_pid())");
                    }
                    try {
                      return method.invoke(connection, arguments);
                    } catch (InvocationTargetException failed) {
                      throw failed.getCause();
                    }
                  });
      assertThatThrownBy(() -> new PostgresSchema(address, ended).prepare("a host"))
          .hasMessageContaining("terminating connection due to administrator command")
          .satisfies(failed -> assertThat(failed.getSuppressed()).isNotEmpty());
    }
  }

  @Test
  void aRoleThatMayOnlyUseTheTablesIsEnoughOnceTheyAreThere() {
    database.store().open().close();
    database.execute(
        "CREATE ROLE restricted LOGIN",
        "GRANT USAGE ON SCHEMA public TO restricted",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO restricted");
    try (Host host =
        Host.on(Store.postgres(database.address().replace("fermata@", "restricted@")))) {
      host.openWithSnapshots("a")
          .write(new Line("one"))
          .write(new Note.Plan("two"))
          .write(new Note.Conclusion("over"));
      assertThat(host.sweep()).isEqualTo(1);
      Host.await(host.store().directory().put(DirectoryContract.entry("a")));
      Host.await(host.store().delete(List.of("a")));
    } finally {
      database.execute("DROP OWNED BY restricted", "DROP ROLE restricted");
    }
  }

  @Test
  void anEmptySchemaNeedsARoleThatMayCreateTables() {
    database.execute(
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
        "CREATE ROLE creator LOGIN",
        "GRANT USAGE ON SCHEMA public TO creator");
    Store store = Store.postgres(database.address().replace("fermata@", "creator@"));
    try {
      assertThatThrownBy(store::open)
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("\"GRANT USAGE, CREATE ON SCHEMA public TO creator\"");
      database.execute("GRANT USAGE, CREATE ON SCHEMA public TO creator");
      store.open().close();
    } finally {
      database.execute("DROP OWNED BY creator", "DROP ROLE creator");
    }
  }
}
