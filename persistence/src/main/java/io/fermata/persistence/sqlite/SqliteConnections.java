package io.fermata.persistence.sqlite;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.fermata.persistence.spi.StoreException;
import io.fermata.persistence.sql.SqlPool;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.sqlite.SQLiteConfig;

/**
 * The connections of a SQLite file: one for all writes, of the journal and of the store itself, so
 * none of them waits for SQLite's write lock, and some for reads.
 */
public final class SqliteConnections {

  /** How long the lock of another program is waited for. */
  static final int BUSY_MILLIS = 2_000;

  private SqliteConnections() {}

  public static SqlPool writing(SqliteFile file) {
    HikariDataSource source = new HikariDataSource(pool(file, "fermata-sqlite-write", 1));
    try {
      requireWriteAheadLog(file, source);
    } catch (RuntimeException refused) {
      source.close();
      throw refused;
    }
    return SqlPool.over(source);
  }

  public static SqlPool reading(SqliteFile file, String name, int connections) {
    HikariConfig pool = pool(file, name, connections);
    pool.setConnectionInitSql("PRAGMA query_only = ON");
    return SqlPool.over(new HikariDataSource(pool));
  }

  private static HikariConfig pool(SqliteFile file, String name, int connections) {
    HikariConfig pool = new HikariConfig();
    pool.setPoolName(name);
    pool.setDataSource(file.dataSource(settings()));
    pool.setMaximumPoolSize(connections);
    pool.setMaxLifetime(0);
    return pool;
  }

  private static SQLiteConfig settings() {
    SQLiteConfig settings = new SQLiteConfig();
    settings.setJournalMode(SQLiteConfig.JournalMode.WAL);
    settings.setSynchronous(SQLiteConfig.SynchronousMode.FULL);
    settings.setBusyTimeout(BUSY_MILLIS);
    settings.enforceForeignKeys(true);
    // Content of ended or erased runs must not be readable in free pages.
    settings.setPragma(SQLiteConfig.Pragma.SECURE_DELETE, "ON");
    return settings;
  }

  private static void requireWriteAheadLog(SqliteFile file, HikariDataSource source) {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement()) {
      if (!text(statement, "PRAGMA journal_mode").equals("wal")) {
        throw new StoreException(
            file.name()
                + " is on a file system where SQLite cannot keep a write-ahead log"
                + "; choose a file on a local disk");
      }
      // A connection that has read no table may not hold the log yet, and readers that close would
      // delete it.
      text(statement, "SELECT count(*) FROM sqlite_schema");
    } catch (SQLException failed) {
      throw SqliteFailure.explain(file, failed);
    }
  }

  private static String text(Statement statement, String query) throws SQLException {
    try (ResultSet row = statement.executeQuery(query)) {
      return row.getString(1);
    }
  }
}
