package io.fermata.session.observe;

import io.fermata.persistence.spi.StorePool;
import io.fermata.session.observe.Telemetry.Gauge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** The load of a host, as reported by its actors. */
public final class HostGauges {
  private final List<Gauge> all;
  private final Congestion congestion;
  private final AtomicInteger waking = new AtomicInteger();
  private volatile int awake;
  private volatile IntSupplier callsInFlight = () -> 0;
  private volatile int due;
  private volatile int schedules;
  private volatile Duration timerLag = Duration.ZERO;
  private volatile Supplier<Duration> resumeLag = () -> Duration.ZERO;

  public HostGauges(List<StorePool> pools, Congestion congestion) {
    this.congestion = congestion;
    List<Gauge> gauges = new ArrayList<>();
    for (StorePool pool : pools) {
      gauges.add(new Gauge(Meter.POOLED, List.of(pool.name(), "used"), pool::used));
      gauges.add(new Gauge(Meter.POOLED, List.of(pool.name(), "idle"), pool::idle));
      gauges.add(new Gauge(Meter.POOL_WAITING, List.of(pool.name()), pool::waiting));
    }
    gauges.add(new Gauge(Meter.AWAKE, List.of(), () -> awake));
    gauges.add(new Gauge(Meter.WAKING, List.of(), waking::get));
    gauges.add(new Gauge(Meter.IN_FLIGHT, List.of(), () -> callsInFlight.getAsInt()));
    gauges.add(new Gauge(Meter.DUE, List.of(), () -> due));
    gauges.add(new Gauge(Meter.SCHEDULES, List.of(), () -> schedules));
    gauges.add(new Gauge(Meter.LAG, List.of("timers"), () -> timerLag.toMillis()));
    gauges.add(new Gauge(Meter.LAG, List.of("unfinished"), () -> resumeLag.get().toMillis()));
    this.all = List.copyOf(gauges);
  }

  public List<Gauge> all() {
    return all;
  }

  public Congestion congestion() {
    return congestion;
  }

  public void due(int sessions, Duration lag) {
    due = sessions;
    timerLag = lag;
  }

  public void resumeLag(Supplier<Duration> current) {
    resumeLag = current;
  }

  public void schedules(int registered) {
    schedules = registered;
  }

  public void awake(int sessions) {
    awake = sessions;
  }

  /** How many sessions are in memory. */
  public int awake() {
    return awake;
  }

  public void callsInFlight(IntSupplier current) {
    callsInFlight = current;
  }

  public void wakes() {
    waking.incrementAndGet();
  }

  public void woke() {
    waking.decrementAndGet();
  }
}
