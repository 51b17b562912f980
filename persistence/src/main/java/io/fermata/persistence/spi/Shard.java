package io.fermata.persistence.spi;

import java.util.stream.IntStream;

/**
 * How the sessions of a store are divided among the hosts that share it. Each session belongs to
 * one of {@value #SLICES} slices by its name, and a shard is a range of slices. Every row that is
 * scanned carries its slice, so the host that holds a shard finds its work without reading that of
 * others.
 */
public final class Shard {

  /** The number of slices; it never changes, as stored rows carry them. */
  public static final int SLICES = 1_024;

  /** The number of shards, which are handed from host to host as a whole. */
  public static final int COUNT = 128;

  private static final int SLICES_EACH = SLICES / COUNT;

  private Shard() {}

  /** The slice of a session. */
  public static int sliceOf(String persistenceId) {
    return Math.floorMod(persistenceId.hashCode(), SLICES);
  }

  /** The shard of a session. */
  public static int of(String persistenceId) {
    return sliceOf(persistenceId) / SLICES_EACH;
  }

  /** All shards. */
  public static IntStream all() {
    return IntStream.range(0, COUNT);
  }
}
