package io.fermata.bench.load;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The result of one window of load. */
public record Measurement(
    double runsPerSecond, double p50, double p99, double calls, ResourceUsage used) {

  static Measurement of(long[] nanos, int callsPerRun, double seconds, ResourceUsage used) {
    Arrays.sort(nanos);
    double calls = nanos.length;
    return new Measurement(
        calls / callsPerRun / seconds, at(nanos, 0.50), at(nanos, 0.99), Math.max(1, calls), used);
  }

  private static double at(long[] sorted, double quantile) {
    return sorted.length == 0 ? Double.NaN : sorted[(int) (quantile * (sorted.length - 1))] / 1e6;
  }

  /** The CPU time of a call, in microseconds. */
  public double cpuMicros() {
    return used.cpuNanos() / 1e3 / calls;
  }

  /** What a call costs the database: CPU time in microseconds, bytes of its log, transactions. */
  public String databaseRow() {
    return String.format(
        Locale.ROOT,
        "%9.0f %9.0f %9.2f",
        used.databaseNanos() / 1e3 / calls,
        used.walBytes() / calls,
        used.commits() / calls);
  }

  /** The rounds' median by throughput. */
  static Measurement median(List<Measurement> rounds) {
    return rounds.stream()
        .sorted((a, b) -> Double.compare(a.runsPerSecond, b.runsPerSecond))
        .toList()
        .get(rounds.size() / 2);
  }

  public String row(int callsPerRun) {
    return String.format(
        Locale.ROOT,
        "%10.0f %10.0f %9.3f %9.3f %9.0f",
        runsPerSecond,
        runsPerSecond * callsPerRun,
        p50,
        p99,
        cpuMicros());
  }
}
