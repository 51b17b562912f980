package io.fermata.persistence;

/** Journals in memory, for tests. */
final class MemoryStore implements Store {

  private final MemoryJournals journals = new MemoryJournals();

  @Override
  public OpenStore open() {
    return new OpenMemoryStore(journals);
  }

  MemoryJournals journals() {
    return journals;
  }

  @Override
  public String toString() {
    return OpenMemoryStore.NAME;
  }
}
