package io.fermata.persistence;

import org.apache.pekko.persistence.jdbc.db.SlickDatabase;
import scala.Option;
import slick.jdbc.JdbcBackend;
import slick.jdbc.JdbcBackend$;
import slick.jdbc.JdbcProfile;
import slick.jdbc.PostgresProfile$;
import slick.util.AsyncExecutor;

/** The connections of the JDBC plugins, each with a thread of its own. */
final class PostgresJournals implements SlickDatabase {

  private static final int WAITING_STATEMENTS = 20_000;

  private final JdbcBackend.JdbcDatabaseDef database;

  PostgresJournals(PostgresPool pool) {
    int connections = pool.getMaximumPoolSize();
    database =
        JdbcBackend$.MODULE$
            .Database()
            .forDataSource(
                pool,
                Option.apply(connections),
                AsyncExecutor.apply(
                    pool.getPoolName(), connections, connections, WAITING_STATEMENTS, connections),
                false);
  }

  @Override
  public JdbcBackend.JdbcDatabaseDef database() {
    return database;
  }

  @Override
  public JdbcProfile profile() {
    return PostgresProfile$.MODULE$;
  }

  /** The store outlives the plugins: a plugin that restarts must find its database open. */
  @Override
  public boolean allowShutdown() {
    return false;
  }
}
