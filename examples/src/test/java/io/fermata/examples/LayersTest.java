package io.fermata.examples;

import io.fermata.layers.Layers;
import org.junit.jupiter.api.Test;

/** The packages of this module and their order. */
class LayersTest {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.examples",
          "io.fermata.examples.flows",
          "io.fermata.examples.telemetry",
          "io.fermata.examples.command",
          "io.fermata.examples");

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
    // The state of a flow has as many values as the flow asks for or computes.
    LAYERS.haveShortConstructors("io.fermata.examples.flows.TripFlow$Trip");
  }
}
