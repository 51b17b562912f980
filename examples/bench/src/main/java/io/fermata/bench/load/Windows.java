package io.fermata.bench.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Option;

/** How long is measured, and how often. */
final class Windows {
  @Option(names = "--warmup", defaultValue = "4", description = "seconds before each window")
  private int warmUp;

  @Option(names = "--seconds", defaultValue = "6", description = "length of a window")
  private int seconds;

  @Option(
      names = "--rounds",
      defaultValue = "3",
      description = "windows of which the median counts")
  private int rounds;

  int rounds() {
    return rounds;
  }

  Duration warmUp() {
    return Duration.ofSeconds(warmUp);
  }

  Duration length() {
    return Duration.ofSeconds(seconds);
  }

  /** The median of the windows; each begins a new load. */
  Measurement median(Callable<Load> load) throws Exception {
    List<Measurement> windows = new ArrayList<>();
    for (int round = 0; round < rounds; round++) {
      windows.add(load.call().measure(warmUp(), length()));
    }
    return Measurement.median(windows);
  }
}
