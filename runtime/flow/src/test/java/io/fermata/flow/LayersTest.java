package io.fermata.flow;

import io.fermata.layers.Layers;
import org.junit.jupiter.api.Test;

/** The packages of this module and the order they stand in. */
class LayersTest {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.flow",
          "io.fermata.flow.logging",
          "io.fermata.flow.cases",
          "io.fermata.flow.json",
          "io.fermata.flow.picture",
          "io.fermata.flow.schema",
          "io.fermata.flow.event",
          "io.fermata.flow.observe",
          "io.fermata.flow.route",
          "io.fermata.flow.action",
          "io.fermata.flow",
          "io.fermata.flow.engine",
          "io.fermata.flow.record",
          "io.fermata.flow.replay");

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
