package io.fermata.persistence;

import org.apache.pekko.actor.setup.Setup;

/** Carries the journals of a memory store to its plugins. */
final class MemorySetup extends Setup {

  private final MemoryJournals journals;

  MemorySetup(MemoryJournals journals) {
    this.journals = journals;
  }

  MemoryJournals journals() {
    return journals;
  }
}
