package io.fermata.persistence;

import org.apache.pekko.actor.setup.Setup;
import org.apache.pekko.persistence.jdbc.db.SlickDatabase;

/** Carries the database of a store to its plugins. */
final class SqlSetup extends Setup {

  private final SlickDatabase database;

  SqlSetup(SlickDatabase database) {
    this.database = database;
  }

  SlickDatabase database() {
    return database;
  }
}
