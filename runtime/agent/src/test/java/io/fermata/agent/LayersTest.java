package io.fermata.agent;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and the order they stand in. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.agent",
          "io.fermata.agent.model",
          "io.fermata.agent.message",
          "io.fermata.agent.state",
          "io.fermata.agent.history",
          "io.fermata.agent",
          "io.fermata.agent.tool",
          "io.fermata.agent.mcp",
          "io.fermata.agent.engine",
          "io.fermata.agent.replay");

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
