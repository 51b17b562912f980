package io.fermata.persistence;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.persistence.spi.Passwords;
import io.fermata.persistence.spi.StoreException;
import io.fermata.postgres.PostgresServer;
import java.nio.file.Path;
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
  void aDatabaseOfAServerIsNotCopied() {
    assertThatThrownBy(() -> database.store().backup(Path.of("copy.db")))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("pg_dump");
  }
}
