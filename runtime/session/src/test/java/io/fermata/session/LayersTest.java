package io.fermata.session;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and the order they stand in. */
class LayersTest implements LayersContract {
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

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
