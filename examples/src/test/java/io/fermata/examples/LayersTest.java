package io.fermata.examples;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;
import org.junit.jupiter.api.Test;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of("io.fermata.examples", "io.fermata.examples.flows", "io.fermata.examples");

  @Override
  public Layers layers() {
    return LAYERS;
  }

  @Override
  @Test
  public void noConstructorIsLong() {
    // The state of a flow has as many values as the flow asks for or computes.
    LAYERS.haveShortConstructors("io.fermata.examples.flows.TripFlow$Trip");
  }
}
