package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.fermata.persistence.contract.Host;
import io.fermata.persistence.contract.Note.Line;
import io.fermata.persistence.postgres.PostgresClaimTest;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** A server that would lose acknowledged writes is no store, unless its address accepts that. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
@Tag("long")
final class PostgresDurabilityTest {

  private PostgresServer server = PostgresServer.shared();
  private PostgresProbe database = PostgresProbe.of(server);

  @BeforeAll
  void startServer() {
    server = PostgresServer.start();
  }

  @AfterAll
  void stopServer() {
    server.close();
  }

  @BeforeEach
  void createDatabase() {
    set("fsync", "on");
    set("full_page_writes", "on");
    database = PostgresProbe.of(server);
  }

  /** Returns when new connections have the setting. */
  private void set(String setting, String value) {
    server.set(setting, value);
    PostgresClaimTest.await(
        () ->
            database.number(
                    "SELECT count(*) FROM pg_settings WHERE name = ? AND setting = ?",
                    setting,
                    value)
                == 1);
  }

  @ParameterizedTest
  @CsvSource({"fsync, loses acknowledged writes", "full_page_writes, may damage the database"})
  void aSettingThatLosesAcknowledgedWritesIsRefusedAndSaysWhatWouldBeLost(
      String setting, String lost) {
    set(setting, "off");
    assertThatThrownBy(() -> database.store().open())
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith(database.address() + " runs with " + setting + "=off")
        .hasMessageContainingAll(
            lost, "set " + setting + "=on on the server", "unsafe=" + setting + " in the address");
  }

  @ParameterizedTest
  @ValueSource(strings = {"fsync", "full_page_writes"})
  void aLossIsAcceptedByTheNameOfItsSettingAndNoOther(String setting) {
    set(setting, "off");
    String other = setting.equals("fsync") ? "full_page_writes" : "fsync";
    assertThatThrownBy(() -> Store.postgres(database.address() + "?unsafe=" + other).open())
        .isInstanceOf(StoreException.class)
        .hasMessageContaining(setting + "=off");
    for (String accepted : new String[] {setting, "fsync,full_page_writes"}) {
      try (Host host = Host.on(Store.postgres(database.address() + "?unsafe=" + accepted))) {
        host.open("a").write(new Line(accepted));
      }
    }
  }

  @Test
  void aSettingThatIsChangedUnderAHostStopsItsWritesUntilItIsBack() {
    try (Host host = Host.on(database.store())) {
      host.open("a").write(new Line("one"));
      set("fsync", "off");
      PostgresClaimTest.await(
          () ->
              failure(host.store().unfinished("", 1))
                  .contains("runs with fsync=off, which loses acknowledged writes"));
      set("fsync", "on");
      PostgresClaimTest.untilWritten(host, "b");
      assertThat(host.open("a").write(new Line("two")).lines()).containsExactly("one", "two");
    }
  }

  private static String failure(CompletionStage<?> stage) {
    return stage.handle((done, failed) -> String.valueOf(failed)).toCompletableFuture().join();
  }

  @ParameterizedTest
  @CsvSource({
    "off, on",
    "local, on",
    "remote_write, on",
    "on, on",
    "remote_apply, remote_apply",
  })
  void acknowledgedWritesAreSyncedWhateverTheDefaultOfTheServer(String set, String used) {
    List<String> warned =
        warnings(() -> assertThat(synchronousCommit(set, database.address())).isEqualTo(used));
    if (set.equals(used)) {
      assertThat(warned).isEmpty();
    } else {
      assertThat(warned)
          .singleElement()
          .asString()
          .startsWith(database.address() + " is configured with synchronous_commit=" + set)
          .contains("this host use on", "unsafe=synchronous_commit in the address");
    }
  }

  @Test
  void anAddressWithAStandbyThatMayLackAcknowledgedWritesIsLogged() {
    String one = "127.0.0.1:" + server.port();
    String several = database.address().replace(one, one + "," + one);
    assertThat(warnings(() -> Store.postgres(several).open().close()))
        .singleElement()
        .asString()
        .startsWith(several + " names several servers")
        .contains("synchronous_standby_names is empty");
    assertThat(warnings(() -> database.store().open().close())).isEmpty();
  }

  private static List<String> warnings(Runnable during) {
    Logger logger = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    logger.addAppender(logged);
    try {
      during.run();
    } finally {
      logger.detachAppender(logged);
    }
    return logged.list.stream()
        .map(ILoggingEvent::getFormattedMessage)
        .filter(line -> line.contains("synchronous_"))
        .toList();
  }

  @Test
  void aWeakerCommitIsUsedOnlyWhereTheAddressAcceptsIt() {
    String accepting = database.address() + "?unsafe=synchronous_commit";
    assertThat(warnings(() -> assertThat(synchronousCommit("local", accepting)).isEqualTo("local")))
        .singleElement()
        .asString()
        .contains(" runs with synchronous_commit=local, as its address accepts");
  }

  /** The setting with which an entry is appended. */
  private String synchronousCommit(String set, String address) {
    database.execute(
        "ALTER DATABASE " + database.database() + " SET synchronous_commit = " + set,
        "CREATE TABLE seen (setting text)",
        "GRANT ALL ON seen TO fermata");
    try (Host host = Host.on(Store.postgres(address))) {
      database.execute(
          """
          CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW;
          END $$
          """,
          "CREATE TRIGGER see AFTER INSERT ON event_journal FOR EACH ROW EXECUTE FUNCTION see()");
      host.open("a").write(new Line("one"));
    }
    return database.text("SELECT setting FROM seen");
  }

  @Test
  void aTableThatACrashWouldEmptyIsRefused() {
    database.store().open().close();
    database.execute("ALTER TABLE snapshot SET UNLOGGED");
    assertThatThrownBy(() -> database.store().open())
        .isInstanceOf(StoreException.class)
        .hasMessageContainingAll("unlogged", "ALTER TABLE snapshot SET LOGGED");
    database.execute("ALTER TABLE snapshot SET LOGGED");
    database.store().open().close();
  }

  @Test
  void anUnknownNameOfASettingIsRefusedWithTheKnownOnes() {
    assertThatThrownBy(() -> Store.postgres(database.address() + "?unsafe=everything"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(
            "unsafe names everything", "fsync, full_page_writes, synchronous_commit");
  }
}
