package io.fermata.session;

import io.fermata.layers.Layers;
import org.junit.jupiter.api.Test;

/** The packages of this module and the order they stand in. */
class LayersTest {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.session",
          "io.fermata.session.key",
          "io.fermata.session.call",
          "io.fermata.session.observe",
          "io.fermata.session.admin",
          "io.fermata.session.journal",
          "io.fermata.session.runs",
          "io.fermata.session.actor",
          "io.fermata.session.cluster",
          "io.fermata.session.run",
          "io.fermata.session.thread",
          "io.fermata.session.host",
          "io.fermata.session.archive",
          "io.fermata.session",
          "io.fermata.session.telemetry");

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
