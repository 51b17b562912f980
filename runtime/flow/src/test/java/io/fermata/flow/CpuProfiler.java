package io.fermata.flow;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Counts operations by the processor time of the whole process, compiler and collector included: a
 * machine that others use as well distorts that less than the wall clock.
 */
public final class CpuProfiler implements InternalProfiler {
  private final OperatingSystemMXBean system =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private long began;

  @Override
  public String getDescription() {
    return "Operations per second of processor time";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    began = system.getProcessCpuTime();
  }

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    double seconds = (double) (system.getProcessCpuTime() - began) / TimeUnit.SECONDS.toNanos(1);
    double operations = result.getMetadata().getAllOps();
    return List.of(
        new ScalarResult("cpu", operations / seconds, "ops/cpu-s", AggregationPolicy.AVG));
  }
}
