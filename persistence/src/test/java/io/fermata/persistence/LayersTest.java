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
  void noConstructorIsLong() {
    LAYERS.haveShortConstructors();
  }
}
