package io.fermata.persistence;

import io.fermata.layers.Layers;
import org.junit.jupiter.api.Test;

/** The packages of this module and the order they stand in. */
class LayersTest {
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

  @Test
  void noTwoPackagesNeedEachOther() {
    LAYERS.haveNoCycles();
  }

  @Test
  void eachPackageUsesOnlyThoseBelowIt() {
    LAYERS.dependDownwardsOnly();
  }

  @Test
  void noPackageIsLarge() {
    LAYERS.areSmall();
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

  @Test
  void noConstructorIsLong() {
    LAYERS.haveShortConstructors();
  }
}
