package io.fermata.persistence;

import org.apache.pekko.actor.setup.Setup;

/** Carries the journals of a store to its plugins. */
final class SqlSetup extends Setup {

  private final SqlJournals journals;

  SqlSetup(SqlJournals journals) {
    this.journals = journals;
  }

  SqlJournals journals() {
    return journals;
  }
}
