package io.fermata.session.telemetry;

import io.fermata.session.observe.Activity;
import io.fermata.session.observe.Meter;
import io.fermata.session.observe.Telemetry;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter.MeterProvider;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts and times what a host does in a Micrometer registry.
 *
 * <p>The README of {@code runtime/session} lists the meters and their tags, under "Telemetry".
 *
 * <p>Tags are registered names or come from a short list, so the number of meters does not grow
 * with sessions or callers. With several hosts in a process, give each its own registry, or one
 * that adds a tag.
 */
public final class Meters implements Telemetry {
  /** The range of the buckets of histograms. */
  private static final Duration SHORTEST = Duration.ofMillis(1);

  private static final Duration LONGEST = Duration.ofMinutes(1);

  private final MeterRegistry registry;
  private final Map<Meter, MeterProvider<?>> measured = new EnumMap<>(Meter.class);
  private final Map<List<Gauge>, List<io.micrometer.core.instrument.Meter>> gauges =
      new ConcurrentHashMap<>();

  private Meters(MeterRegistry registry) {
    this.registry = registry;
    for (Meter each : Meter.values()) {
      String name = each.title();
      String what = each.description();
      switch (each.kind()) {
        case TIMER -> add(each, timer(name).description(what).withRegistry(registry));
        case COUNTER -> add(each, Counter.builder(name).description(what).withRegistry(registry));
        case SUMMARY ->
            add(each, DistributionSummary.builder(name).description(what).withRegistry(registry));
        case GAUGE, MILLIS, TOTAL -> {}
      }
    }
  }

  /** Its histogram lets a registry such as Prometheus compute percentiles over several hosts. */
  private static Timer.Builder timer(String name) {
    return Timer.builder(name)
        .publishPercentileHistogram()
        .minimumExpectedValue(SHORTEST)
        .maximumExpectedValue(LONGEST);
  }

  /** What has no tags is there from the start, and is not looked up again. */
  private <T extends io.micrometer.core.instrument.Meter> void add(
      Meter meter, MeterProvider<T> provider) {
    if (meter.tags().isEmpty() && !meter.clustered()) {
      T only = provider.withTags(List.of());
      measured.put(meter, none -> only);
    } else {
      measured.put(meter, provider);
    }
  }

  /** Meters in a registry. */
  public static Meters of(MeterRegistry registry) {
    return new Meters(registry);
  }

  @Override
  public Activity called(Call call) {
    long begun = System.nanoTime();
    return new Activity() {
      @Override
      public void end(End end) {
        String code = end.code() == null ? Meter.NO_CODE : end.code();
        since(begun, Meter.CALLS, call.tool(), Meter.tag(call.kind()), end.status(), code);
      }
    };
  }

  @Override
  public Activity performing(Effect effect) {
    long begun = System.nanoTime();
    return new Activity() {
      @Override
      public void end(End end) {
        since(begun, Meter.EFFECTS, effect.name(), effect.step(), end.status());
      }
    };
  }

  private void since(long begun, Meter timer, String... tags) {
    measured(timer, (double) (System.nanoTime() - begun), List.of(tags));
  }

  @Override
  public void measured(Meter meter, double value, List<String> tags) {
    var to =
        Objects.requireNonNull(measured.get(meter), meter.title()).withTags(named(meter, tags));
    switch (meter.kind()) {
      case TIMER -> ((Timer) to).record((long) value, TimeUnit.NANOSECONDS);
      case SUMMARY -> ((DistributionSummary) to).record(value);
      default -> ((Counter) to).increment(value);
    }
  }

  private static List<Tag> named(Meter meter, List<String> values) {
    List<String> names = meter.tags();
    if (names.size() != values.size()) {
      throw new IllegalArgumentException(meter.title() + " has the tags " + names);
    }
    List<Tag> tags = new ArrayList<>(names.size());
    for (int i = 0; i < names.size(); i++) {
      tags.add(Tag.of(names.get(i), values.get(i)));
    }
    return tags;
  }

  @Override
  public void opened(List<Gauge> all) {
    gauges.put(all, all.stream().map(each -> registered(each, all)).toList());
    if (all.stream().anyMatch(each -> each.meter().clustered())) {
      measured.forEach(
          (meter, provider) -> {
            if (meter.clustered()) {
              provider.withTags(List.of());
            }
          });
    }
  }

  /**
   * @param all a registry holds the object of a counter weakly, and this holds it until it closes
   */
  private io.micrometer.core.instrument.Meter registered(Gauge gauge, List<Gauge> all) {
    Meter meter = gauge.meter();
    String name = meter.title();
    String what = meter.description();
    List<Tag> tags = named(meter, gauge.tags());
    return switch (meter.kind()) {
      case MILLIS ->
          TimeGauge.builder(name, gauge.value()::getAsDouble, TimeUnit.MILLISECONDS)
              .description(what)
              .tags(tags)
              .register(registry);
      case TOTAL ->
          FunctionCounter.builder(name, all, any -> gauge.value().getAsDouble())
              .description(what)
              .tags(tags)
              .register(registry);
      default ->
          io.micrometer.core.instrument.Gauge.builder(name, gauge.value()::getAsDouble)
              .description(what)
              .tags(tags)
              .register(registry);
    };
  }

  @Override
  public void closed(List<Gauge> all) {
    var over = gauges.remove(all);
    if (over != null) {
      over.forEach(registry::remove);
    }
  }
}
