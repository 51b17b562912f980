package io.fermata.persistence.keyvalue;

import io.fermata.layers.Layers;
import org.junit.jupiter.api.Test;

/** The packages of this module and their order. */
class LayersTest {
  private static final Layers LAYERS =
      Layers.of("io.fermata.persistence.keyvalue", "io.fermata.persistence.keyvalue");

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
        "KvJournals", // when an ended run is forgotten
        "KvShard"); // when sessions are due, and when hosts wrote their marks
  }

  @Test
  void noConstructorIsLong() {
    LAYERS.haveShortConstructors();
  }
}
