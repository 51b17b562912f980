package io.fermata.mcp;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of(
          "io.fermata.mcp",
          "io.fermata.mcp.rpc",
          "io.fermata.mcp.settings",
          "io.fermata.mcp.access",
          "io.fermata.mcp.feature",
          "io.fermata.mcp.protocol",
          "io.fermata.mcp.catalog",
          "io.fermata.mcp.call",
          "io.fermata.mcp.dispatch",
          "io.fermata.mcp.http",
          "io.fermata.mcp.rest",
          "io.fermata.mcp.legacy",
          "io.fermata.mcp");

  @Override
  public Layers layers() {
    return LAYERS;
  }
}
