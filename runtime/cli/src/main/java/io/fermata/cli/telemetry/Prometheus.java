package io.fermata.cli.telemetry;

import io.fermata.session.observe.Telemetry;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

/** The meters of the server and of its JVM, in the format of Prometheus. */
public final class Prometheus {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  private Prometheus() {}

  public static Prometheus create() {
    Prometheus prometheus = new Prometheus();
    new JvmMemoryMetrics().bindTo(prometheus.registry);
    new JvmThreadMetrics().bindTo(prometheus.registry);
    new ProcessorMetrics().bindTo(prometheus.registry);
    return prometheus;
  }

  public Telemetry telemetry() {
    return Meters.of(registry);
  }

  public String text() {
    return registry.scrape();
  }
}
