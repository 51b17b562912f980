package io.fermata.persistence.spi;

/**
 * A part of one journal.
 *
 * @param edge the lowest sequence number, or if it is read backwards the one above the highest
 */
public record Slice(String persistenceId, long edge, int max, boolean backwards) {

  public Slice {
    if (edge < 0) {
      throw new IllegalArgumentException(
          persistenceId
              + " has no record "
              + edge
              + ", its first is 1; ask for that or a later one");
    }
    requireMax(max);
  }

  public static void requireMax(int max) {
    if (max < 1 || max > OpenStore.MAX_ENTRIES) {
      throw new IllegalArgumentException(
          max
              + " records cannot be read at once; read 1 to "
              + OpenStore.MAX_ENTRIES
              + " and go on from the last");
    }
  }

  public static Slice from(String persistenceId, long seq, int max) {
    return new Slice(persistenceId, seq, max, false);
  }

  public static Slice before(String persistenceId, long seq, int max) {
    return new Slice(persistenceId, seq, max, true);
  }
}
