package io.fermata.flow;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and the order they stand in. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.flow",
          "io.fermata.flow.cases",
          "io.fermata.flow.json",
          "io.fermata.flow.logging",
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

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
