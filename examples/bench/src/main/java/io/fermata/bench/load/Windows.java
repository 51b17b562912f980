package io.fermata.bench.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Option;

/** How long and how often to measure. */
public final class Windows {
  @Option(
      names = "--warmup",
      defaultValue = "4",
      description = "Seconds of warm-up before each window.")
  private int warmUp;

  @Option(names = "--seconds", defaultValue = "6", description = "Length of a window in seconds.")
  private int seconds;

  @Option(
      names = "--rounds",
      defaultValue = "3",
      description = "Number of windows; the median is printed.")
  private int rounds;

  public int rounds() {
    return rounds;
  }

  public Duration warmUp() {
    return Duration.ofSeconds(warmUp);
  }

  public Duration length() {
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
