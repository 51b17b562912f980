package io.fermata.persistence;

import org.apache.pekko.actor.setup.Setup;

/** Carries the journals of a key-value store to its plugins. */
final class KvSetup extends Setup {

  private final KvJournals journals;

  KvSetup(KvJournals journals) {
    this.journals = journals;
  }

  KvJournals journals() {
    return journals;
  }
}
