package io.fermata.persistence.sqlite;

import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.sql.SchemaSteps;
import io.fermata.persistence.sql.Sql;
import io.fermata.persistence.sql.SqlDirectory;
import io.fermata.persistence.sql.SqlMeta;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.sqlite.SQLiteConfig;

/**
 * Owns the tables of a SQLite store: creates them in an empty file, brings an older file up to date
 * and refuses any other. The journal and snapshot tables are those of pekko-persistence-jdbc with
 * checksums, so tools for those read these.
 */
public final class SqliteSchema {

  private static final String TABLES =
      "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

  private static final String OURS =
      "SELECT count(*) = 2 FROM pragma_table_info('fermata_meta') WHERE name IN ('key', 'value')";

  /** Enough for about a gigabyte in memory; the rest of a larger file is not checked. */
  private static final long QUICK_CHECK_MILLIS = 2_000;

  private static final SchemaSteps STEPS =
      new SchemaSteps(
          List.of(
              SchemaSteps.step(
                  List.of(
                      """
              CREATE TABLE fermata_meta (
                key TEXT NOT NULL PRIMARY KEY,
                value ANY NOT NULL
              ) STRICT, WITHOUT ROWID
              """,
                      // A number is not used again: the directory lists what is above its mark.
                      """
              CREATE TABLE event_journal (
                ordering INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                deleted INTEGER NOT NULL DEFAULT 0,
                persistence_id TEXT NOT NULL,
                sequence_number INTEGER NOT NULL,
                writer TEXT NOT NULL,
                write_timestamp INTEGER NOT NULL,
                event_payload BLOB NOT NULL,
                event_ser_id INTEGER NOT NULL,
                event_ser_manifest TEXT NOT NULL,
                checksum INTEGER NOT NULL,
                previous INTEGER,
                UNIQUE (persistence_id, sequence_number)
              ) STRICT
              """,
                      """
              CREATE TABLE event_tag (
                event_id INTEGER NOT NULL REFERENCES event_journal (ordering) ON DELETE CASCADE,
                tag TEXT NOT NULL,
                PRIMARY KEY (event_id, tag)
              ) STRICT, WITHOUT ROWID
              """,
                      "CREATE INDEX event_tag_by_tag ON event_tag (tag, event_id)",
                      """
              CREATE TABLE snapshot (
                persistence_id TEXT NOT NULL,
                sequence_number INTEGER NOT NULL,
                created INTEGER NOT NULL,
                snapshot_ser_id INTEGER NOT NULL,
                snapshot_ser_manifest TEXT NOT NULL,
                snapshot_payload BLOB NOT NULL,
                last INTEGER NOT NULL,
                checksum INTEGER NOT NULL,
                PRIMARY KEY (persistence_id, sequence_number)
              ) STRICT
              """,
                      // The number is that of the row, so that the index of texts can name it.
                      """
              CREATE TABLE directory (
                id INTEGER NOT NULL PRIMARY KEY,
                persistence_id TEXT NOT NULL UNIQUE,
                kind TEXT NOT NULL,
                principal TEXT NOT NULL,
                name TEXT NOT NULL,
                session TEXT NOT NULL,
                seq INTEGER NOT NULL,
                created_at INTEGER NOT NULL,
                active_at INTEGER NOT NULL,
                status TEXT NOT NULL,
                since INTEGER NOT NULL,
                labels TEXT NOT NULL,
                searchable TEXT NOT NULL
              ) STRICT
              """),
                  SqlDirectory.INDEXES,
                  List.of(
                      """
              CREATE INDEX directory_since_principal
              ON directory (kind, principal, status, since)
              """,
                      // Repeats the time, so that entries with a tag are found in the order of a
                      // list.
                      """
              CREATE TABLE directory_tag (
                persistence_id TEXT NOT NULL
                  REFERENCES directory (persistence_id) ON DELETE CASCADE,
                tag TEXT NOT NULL,
                kind TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                PRIMARY KEY (persistence_id, tag)
              ) STRICT, WITHOUT ROWID
              """,
                      SqlDirectory.TAG_INDEX,
                      """
              CREATE TABLE directory_trigram (
                block INTEGER NOT NULL,
                trigram INTEGER NOT NULL,
                entries BLOB NOT NULL,
                PRIMARY KEY (block, trigram)
              ) STRICT, WITHOUT ROWID
              """,
                      // Within a transaction, the entries whose texts have changed, with the text
                      // that
                      // is in the index. A number that is used again keeps the text that it had.
                      """
              CREATE TABLE directory_text (
                id INTEGER NOT NULL PRIMARY KEY,
                before TEXT NOT NULL
              ) STRICT
              """,
                      """
              CREATE TRIGGER directory_text_new AFTER INSERT ON directory BEGIN
                INSERT INTO directory_text VALUES (NEW.id, '') ON CONFLICT DO NOTHING;
              END
              """,
                      """
              CREATE TRIGGER directory_text_other AFTER UPDATE OF searchable ON directory
              WHEN NEW.searchable <> OLD.searchable BEGIN
                INSERT INTO directory_text VALUES (NEW.id, OLD.searchable) ON CONFLICT DO NOTHING;
              END
              """,
                      """
              CREATE TRIGGER directory_text_gone AFTER DELETE ON directory BEGIN
                INSERT INTO directory_text VALUES (OLD.id, OLD.searchable) ON CONFLICT DO NOTHING;
              END
              """,
                      "CREATE TABLE directory_mark (number INTEGER NOT NULL) STRICT"))));

  private final SqliteFile file;
  private final Connection connection;

  private SqliteSchema(SqliteFile file, Connection connection) {
    this.file = file;
    this.connection = connection;
  }

  /** Brings the file up to date and returns the server key it holds. */
  public static byte[] prepare(SqliteFile file) {
    // No settings yet: a refused file must stay unchanged.
    try (Connection connection = file.dataSource(new SQLiteConfig()).getConnection()) {
      return new SqliteSchema(file, connection).prepare();
    } catch (SQLException failed) {
      throw SqliteFailure.explain(file, failed);
    }
  }

  /** Refuses a file that is not a store, without changing it. */
  static void requireStore(SqliteFile file, Connection connection) throws SQLException {
    SqliteSchema schema = new SqliteSchema(file, connection);
    if (schema.version() == 0) {
      throw new StoreException(file.name() + " is empty; name the file of a store");
    }
  }

  private byte[] prepare() throws SQLException {
    SqliteVerification.quickly(file, connection, QUICK_CHECK_MILLIS);
    connection.setAutoCommit(false);
    int version = version();
    STEPS.requireKnown(file.name(), version, "file");
    STEPS.migrate(connection, version, newest -> newest);
    byte[] serverKey = SqlMeta.serverKey(connection, row -> row.getBytes(1), key -> key);
    connection.commit();
    return serverKey;
  }

  private int version() throws SQLException {
    List<String> tables = Sql.list(connection, TABLES, row -> row.getString(1));
    if (tables.isEmpty()) {
      return 0;
    }
    if (!Sql.first(connection, OURS, row -> row.getBoolean(1)).orElse(false)) {
      throw new StoreException(
          file.name()
              + " is a SQLite database of another program (it has the tables "
              + String.join(", ", tables)
              + "); choose another file");
    }
    return SchemaSteps.version(connection, file.name());
  }
}
