package io.fermata.session.observe;

import io.fermata.persistence.spi.StorePool;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/** The load of a host, as reported by its actors. */
public final class HostGauges implements Telemetry.Gauges {
  private final List<StorePool> pools;
  private final Congestion congestion;
  private final AtomicInteger waking = new AtomicInteger();
  private volatile int awake;
  private volatile IntSupplier callsInFlight = () -> 0;
  private volatile int due;
  private volatile int schedules;
  private volatile Duration timerLag = Duration.ZERO;
  private volatile Supplier<Duration> resumeLag = () -> Duration.ZERO;

  public HostGauges(List<StorePool> pools, Congestion congestion) {
    this.pools = List.copyOf(pools);
    this.congestion = congestion;
  }

  public Congestion congestion() {
    return congestion;
  }

  @Override
  public int awake() {
    return awake;
  }

  @Override
  public int waking() {
    return waking.get();
  }

  @Override
  public int callsInFlight() {
    return callsInFlight.getAsInt();
  }

  @Override
  public int due() {
    return due;
  }

  @Override
  public int schedules() {
    return schedules;
  }

  @Override
  public List<StorePool> pools() {
    return pools;
  }

  @Override
  public Duration timerLag() {
    return timerLag;
  }

  @Override
  public Duration resumeLag() {
    return resumeLag.get();
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
