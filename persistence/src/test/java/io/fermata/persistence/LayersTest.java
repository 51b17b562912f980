package io.fermata.persistence;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;
import org.junit.jupiter.api.Test;

/** The packages of this module and the order they stand in. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.persistence",
          "io.fermata.persistence.directory",
          "io.fermata.persistence.spi",
          "io.fermata.persistence.pekko",
          "io.fermata.persistence.memory",
          "io.fermata.persistence.sql",
          "io.fermata.persistence.postgres",
          "io.fermata.persistence.sqlite",
          "io.fermata.persistence");

  @Override
  public Layers layers() {
    return LAYERS;
  }

  @Test
  void noWaitIsMeasuredByTheWallClock() {
    LAYERS.measureNothingByTheWallClock(
        "SqlMeta", // anything new, to see whether it can be written
        "SerializedEntry", // when an entry is written
        "PostgresClaim", // since when a store is away, for people
        "PostgresOwner", // since when a host has it
        "PostgresShared", // beside the monotonic clock, which stands still in a suspended machine
        "PostgresShards");
  }
}
