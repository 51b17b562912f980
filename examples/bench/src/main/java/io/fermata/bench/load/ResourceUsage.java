package io.fermata.bench.load;

/**
 * What a load has used so far.
 *
 * @param cpuNanos the CPU time of the hosts
 * @param databaseNanos the CPU time of the database; 0 if it was not measured
 * @param walBytes what the database wrote to its log
 * @param commits the transactions of the database
 */
public record ResourceUsage(long cpuNanos, long databaseNanos, long walBytes, long commits) {
  static ResourceUsage ofCpu(long nanos) {
    return new ResourceUsage(nanos, 0, 0, 0);
  }

  public ResourceUsage since(ResourceUsage before) {
    return new ResourceUsage(
        cpuNanos - before.cpuNanos,
        databaseNanos - before.databaseNanos,
        walBytes - before.walBytes,
        commits - before.commits);
  }
}
