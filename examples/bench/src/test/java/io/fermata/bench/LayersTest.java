package io.fermata.bench;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.bench",
          "io.fermata.bench.load",
          "io.fermata.bench.cluster",
          "io.fermata.bench");

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
