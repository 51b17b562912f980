package io.fermata.persistence;

import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;

/** Carries the database of a SQLite store to its plugins. */
final class SqliteSetup extends Setup {

  private final SlickDatabase database;

  SqliteSetup(SlickDatabase database) {
    this.database = database;
  }

  SlickDatabase database() {
    return database;
  }
}
