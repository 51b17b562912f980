package io.fermata.persistence.keyvalue;

import io.fermata.layers.Layers;
import io.fermata.layers.LayersContract;
import org.junit.jupiter.api.Test;

/** The packages of this module and their order. */
class LayersTest implements LayersContract {
  private static final Layers LAYERS =
      Layers.of("io.fermata.persistence.keyvalue", "io.fermata.persistence.keyvalue");

  @Override
  public Layers layers() {
    return LAYERS;
  }

  @Test
  void noWaitIsMeasuredByTheWallClock() {
    LAYERS.measureNothingByTheWallClock(
        "KvJournals", // when an ended run is forgotten
        "KvShard"); // when sessions are due, and when hosts wrote their marks
  }
}
