package io.fermata.persistence;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.sqlite.SQLiteConfig;
import scala.Option;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.runtime.BoxedUnit;
import scala.util.Try;
import slick.dbio.DBIOAction;
import slick.jdbc.JdbcBackend;
import slick.jdbc.JdbcBackend$;
import slick.jdbc.JdbcProfile;
import slick.jdbc.SQLiteProfile$;
import slick.jdbc.SimpleJdbcAction;
import slick.util.AsyncExecutor;

/**
 * The one connection that writes a SQLite file and the one thread that uses it. The JDBC plugins
 * and the store's own maintenance take turns on it, so none of them ever waits for SQLite's write
 * lock.
 */
final class SqliteDatabase implements SlickDatabase, Transactions {

  private static final String NAME = "fermata-sqlite";
  private static final int WAITING_STATEMENTS = 20_000;
  private static final int LAST_STATEMENTS_SECONDS = 10;
  private static final Logger LOG = LoggerFactory.getLogger(SqliteDatabase.class);

  private final JdbcBackend.JdbcDatabaseDef database;

  private SqliteDatabase(JdbcBackend.JdbcDatabaseDef database) {
    this.database = database;
  }

  static SqliteDatabase connect(SqliteFile file) {
    HikariDataSource source = new HikariDataSource(pool(file, NAME, 1));
    try {
      requireWriteAheadLog(file, source);
    } catch (RuntimeException refused) {
      source.close();
      throw refused;
    }
    return new SqliteDatabase(
        JdbcBackend$.MODULE$
            .Database()
            .forDataSource(
                source,
                Option.apply(1),
                AsyncExecutor.apply(NAME, 1, 1, WAITING_STATEMENTS, 1),
                false));
  }

  static HikariConfig pool(SqliteFile file, String name, int connections) {
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
    settings.setBusyTimeout(10_000);
    settings.enforceForeignKeys(true);
    // What a run that ended or was erased had said must not be read from a page that is free.
    settings.setPragma(SQLiteConfig.Pragma.SECURE_DELETE, "ON");
    return settings;
  }

  private static void requireWriteAheadLog(SqliteFile file, HikariDataSource source) {
    try (Connection connection = source.getConnection();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("PRAGMA journal_mode")) {
      if (!row.getString(1).equals("wal")) {
        throw new StoreException(
            file.name()
                + " is on a file system where SQLite cannot keep a write-ahead log"
                + "; choose a file on a local disk");
      }
    } catch (SQLException failed) {
      throw SqliteSchema.explain(file, failed);
    }
  }

  @Override
  public <T> CompletableFuture<T> transact(Work<T> work) {
    return alone(connection -> Transactions.transact(connection, work));
  }

  /** Does the work outside of any transaction. */
  <T> CompletableFuture<T> alone(Work<T> work) {
    CompletableFuture<T> done = new CompletableFuture<>();
    run(new SimpleJdbcAction<>(context -> now(context.connection(), work)))
        .onComplete(result -> complete(done, result), ExecutionContext.parasitic$.MODULE$);
    return done;
  }

  private static <T> T now(Connection connection, Work<T> work) {
    try {
      return work.on(connection);
    } catch (SQLException failed) {
      throw Transactions.failed(failed);
    }
  }

  /** Scala types an action that may have any effect in a way that Java can only leave raw. */
  @SuppressWarnings({"rawtypes", "unchecked"})
  private <T> Future<T> run(SimpleJdbcAction<T> action) {
    return database.run((DBIOAction) action);
  }

  private static <T> BoxedUnit complete(CompletableFuture<T> done, Try<T> result) {
    if (result.isSuccess()) {
      done.complete(result.get());
    } else {
      done.completeExceptionally(result.failed().get());
    }
    return BoxedUnit.UNIT;
  }

  @Override
  public JdbcBackend.JdbcDatabaseDef database() {
    return database;
  }

  @Override
  public JdbcProfile profile() {
    return SQLiteProfile$.MODULE$;
  }

  /** The store outlives the plugins: a plugin that restarts must find its database open. */
  @Override
  public boolean allowShutdown() {
    return false;
  }

  /**
   * Lets what waits finish, then closes. Closing the last connection brings the write-ahead log
   * into the file and removes it.
   */
  void close() {
    try {
      transact(Connection::isReadOnly).get(LAST_STATEMENTS_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException stuck) {
      LOG.warn("{} is closed while statements are waiting, they are dropped", NAME, stuck);
    } finally {
      database.close();
    }
  }
}
