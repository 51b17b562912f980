package io.fermata.bench.load;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

  /** What begins a new load on something. */
  public interface Loading<T> {
    Load on(T one) throws Exception;
  }

  Duration length() {
    return Duration.ofSeconds(seconds);
  }

  /** The median of the windows; each begins a new load. */
  Measurement median(Callable<Load> load) throws Exception {
    return medians(List.of(load), Callable::call).values().iterator().next();
  }

  /**
   * The median of the windows of each. They alternate, round after round, so that a disturbance of
   * the machine affects all of them.
   */
  public <T> Map<T, Measurement> medians(List<T> all, Loading<T> load) throws Exception {
    Map<T, List<Measurement>> windows = new LinkedHashMap<>();
    for (int round = 0; round < rounds; round++) {
      for (T each : all) {
        windows
            .computeIfAbsent(each, first -> new ArrayList<>())
            .add(load.on(each).measure(Duration.ofSeconds(warmUp), length()));
      }
    }
    Map<T, Measurement> medians = new LinkedHashMap<>();
    windows.forEach((each, measured) -> medians.put(each, Measurement.median(measured)));
    return medians;
  }
}
