package io.fermata.persistence.spi;

/**
 * A range of one journal.
 *
 * @param edge the lowest sequence number; if read backwards, the exclusive upper bound
 */
public record Slice(String persistenceId, long edge, int max, boolean backwards) {

  public Slice {
    if (edge < 0) {
      throw new IllegalArgumentException(
          persistenceId + " has no record " + edge + "; sequence numbers start at 1");
    }
    requireMax(max);
  }

  public static void requireMax(int max) {
    if (max < 1 || max > OpenStore.MAX_ENTRIES) {
      throw new IllegalArgumentException(
          max
              + " records cannot be read at once; read 1 to "
              + OpenStore.MAX_ENTRIES
              + " and continue after the last");
    }
  }

  public static Slice from(String persistenceId, long seq, int max) {
    return new Slice(persistenceId, seq, max, false);
  }

  public static Slice before(String persistenceId, long seq, int max) {
    return new Slice(persistenceId, seq, max, true);
  }
}
