package io.fermata.cli;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of("io.fermata.cli", "io.fermata.cli.telemetry", "io.fermata.cli");

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
