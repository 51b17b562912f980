package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.spi.Passwords;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A database that cannot be a store is refused with the reason and the next step. */
final class PostgresRefusalTest {

  private final PostgresProbe database = PostgresProbe.fresh();

  private static void refuses(String address, String... reasons) {
    assertThatThrownBy(() -> Store.postgres(address).open())
        .isInstanceOf(StoreException.class)
        .hasMessageStartingWith(Passwords.mask(address).replace(":…@", "@"))
        .hasMessageContainingAll(reasons)
        .hasMessageNotContaining("hidden");
  }

  @Test
  void aServerThatIsNotThereIsNamed() {
    refuses(
        "postgres://ann:hidden@127.0.0.1:1/db",
        "cannot be reached at 127.0.0.1:1 (",
        "check that the server runs there");
  }

  @Test
  void aWrongPasswordIsSaidToBe() {
    database.execute(
        "DO $$ BEGIN CREATE ROLE locked LOGIN PASSWORD 'right';"
            + " EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    refuses(
        "postgres://locked:hidden@127.0.0.1:"
            + PostgresServer.shared().port()
            + "/"
            + database.database(),
        "refused the password",
        "PGPASSWORD");
  }

  @Test
  void aDatabaseThatIsMissingIsNamed() {
    refuses(
        "postgres://fermata@127.0.0.1:" + PostgresServer.shared().port() + "/nowhere",
        "has no such database",
        "\"nowhere\"",
        "createdb");
  }

  @Test
  void theTablesOfAnotherProgramAreLeftAlone() {
    database.execute("CREATE TABLE snapshot (x int)");
    refuses(
        database.address(),
        "holds tables of another program in the schema public (snapshot)",
        "currentSchema=fermata");
    Store.postgres(database.address() + "?currentSchema=fermata").open().close();
  }

  @Test
  void aTableOfAnotherProgramThatIsNamedAsOneOfFermataIsLeftAlone() {
    for (String columns : List.of("x int", "key int, value text", "key text, value json")) {
      database.execute("CREATE TABLE fermata_meta (" + columns + ")");
      refuses(
          database.address(),
          "holds tables of another program in the schema public (fermata_meta)",
          "currentSchema=fermata");
      assertThatThrownBy(() -> database.store().openShared())
          .hasMessageContaining("holds tables of another program");
      database.execute("DROP TABLE fermata_meta");
    }
  }

  @Test
  void tablesOfANewerFermataAreLeftAlone() {
    database.store().open().close();
    database.execute("UPDATE fermata_meta SET value = '99' WHERE key = 'schema_version'");
    refuses(database.address(), "written by a newer Fermata (schema 99", "upgrade Fermata");
  }

  @Test
  void tablesThatLostTheirVersionAreDamaged() {
    database.store().open().close();
    database.execute("DELETE FROM fermata_meta WHERE key = 'schema_version'");
    refuses(database.address(), "is damaged", "restore it from a backup");
  }

  /** A schema without one of its parts is refused with the statement that restores it. */
  private void loses(String statement, String lost) {
    database.execute(statement);
    for (boolean shared : new boolean[] {false, true}) {
      assertThatThrownBy(() -> open(shared))
          .isInstanceOf(StoreException.class)
          .hasMessageContainingAll(
              database.address() + " is damaged. " + lost, "restore it from a backup");
    }
    List<String> damages = new ArrayList<>();
    assertThat(database.store().verify(damages::add).damages()).isEqualTo(1);
    assertThat(damages.get(0)).startsWith(lost);
    Matcher repair = Pattern.compile("run \"(.*)\"").matcher(damages.get(0));
    assertThat(repair.find()).isTrue();
    database.execute(repair.group(1));
    open(false);
  }

  private void open(boolean shared) {
    (shared ? database.store().openShared() : database.store().open()).close();
  }

  @Test
  void aSchemaThatHasLostAPartIsRefusedWithTheStatementThatRestoresIt() {
    database.store().open().close();
    loses("DROP INDEX event_tag_by_tag", "The index event_tag_by_tag is missing");
    loses(
        "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'directory_active'::regclass",
        "The index directory_active is not in use; run \"REINDEX INDEX directory_active\"");
    loses(
        "ALTER TABLE event_journal DROP CONSTRAINT event_journal_pkey",
        "The index event_journal_pkey is missing");
    loses(
        "ALTER TABLE event_journal DROP CONSTRAINT event_journal_ordering_key",
        "The index event_journal_ordering_key is missing");
    loses(
        "DROP TRIGGER event_tag_follow ON event_journal",
        "The trigger event_tag_follow is missing");
    loses(
        "ALTER TABLE event_journal DISABLE TRIGGER event_tag_follow",
        "The trigger event_tag_follow is not in use");
    loses("DROP FUNCTION fermata_fence", "The function fermata_fence is missing");
    database.execute("DROP TABLE cluster_lease");
    refuses(
        database.address(),
        "is damaged. The table cluster_lease is missing",
        "restore it from a backup, and start again");
  }

  @Test
  void aSchemaWithoutOneOfItsShardsIsRefused() {
    database.store().open().close();
    database.execute("DELETE FROM shard WHERE shard = 5");
    refuses(database.address(), "is damaged. The table shard has 127 of 128 shards", "backup");
  }

  @Test
  void aDatabaseThatCannotKeepEveryCharacterIsRefused() {
    String name = database.database() + "_latin";
    database
        .server()
        .execute(
            "postgres",
            "CREATE DATABASE " + name + " ENCODING 'LATIN1' TEMPLATE template0 OWNER fermata");
    refuses(
        "postgres://fermata@127.0.0.1:" + PostgresServer.shared().port() + "/" + name,
        "uses the encoding LATIN1",
        "encoding UTF8");
  }

  @Test
  void aSchemaThatTheRoleMayNotCreateIsNamed() {
    database.execute("ALTER DATABASE " + database.database() + " OWNER TO postgres");
    refuses(
        database.address() + "?currentSchema=mine",
        "has no schema mine",
        "\"CREATE SCHEMA mine AUTHORIZATION fermata\"");
  }

  @Test
  void aServerThatDoesNotAnswerInTimeIsNamed() throws SQLException {
    database.store().open().close();
    try (Connection other = database.server().connect(database.database())) {
      other.setAutoCommit(false);
      other.createStatement().execute("LOCK TABLE fermata_meta");
      refuses(
          database.address() + "?socketTimeout=1",
          "does not answer at 127.0.0.1:",
          "check the server's load and its log");
      other.rollback();
    }
  }

  @Test
  void tablesAreCreatedHoweverLongTheServerTakes() throws Exception {
    try (Connection other = database.server().connect(database.database())) {
      other.setAutoCommit(false);
      other.createStatement().execute("CREATE TABLE event_tag (x int)");
      CompletableFuture<Void> opened =
          CompletableFuture.runAsync(
              () -> Store.postgres(database.address() + "?socketTimeout=1").open().close());
      assertThatThrownBy(() -> opened.get(2_500, TimeUnit.MILLISECONDS))
          .isInstanceOf(TimeoutException.class);
      other.rollback();
      opened.get(1, TimeUnit.MINUTES);
    }
  }

  @Test
  void aDatabaseOfAServerIsNotCopied() {
    assertThatThrownBy(() -> database.store().backup(Path.of("copy.db")))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("pg_dump");
  }
}
