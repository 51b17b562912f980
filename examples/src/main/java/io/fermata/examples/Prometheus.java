package io.fermata.examples;

import io.fermata.session.observe.Telemetry;
import io.fermata.session.telemetry.Meters;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;

/** The meters of the server and of its JVM, in the format of Prometheus. */
final class Prometheus {
  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  private Prometheus() {}

  static Prometheus create() {
    Prometheus prometheus = new Prometheus();
    new JvmMemoryMetrics().bindTo(prometheus.registry);
    new JvmThreadMetrics().bindTo(prometheus.registry);
    new ProcessorMetrics().bindTo(prometheus.registry);
    return prometheus;
  }

  Telemetry telemetry() {
    return Meters.of(registry);
  }

  String text() {
    return registry.scrape();
  }
}
