package io.fermata.persistence;

import com.typesafe.config.Config;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;
import org.apache.pekko.persistence.jdbc.db.SlickDatabaseProvider;

/** Gives every JDBC plugin of an actor system the one database of its store. */
final class SqlDatabaseProvider implements SlickDatabaseProvider {

  private final SlickDatabase database;

  SqlDatabaseProvider(ActorSystem system) {
    this.database = StoreSetups.of(system, SqlSetup.class).database();
  }

  @Override
  public SlickDatabase database(Config plugin) {
    return database;
  }
}
