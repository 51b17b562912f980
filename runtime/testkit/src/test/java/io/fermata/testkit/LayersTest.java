package io.fermata.testkit;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of("io.fermata.testkit", "io.fermata.testkit", "io.fermata.testkit.eval");

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
