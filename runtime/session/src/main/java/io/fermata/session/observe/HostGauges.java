package io.fermata.session.observe;

import java.util.concurrent.atomic.AtomicInteger;

/** The load of a host, as reported by its actors. */
public final class HostGauges implements Telemetry.Gauges {
  private final AtomicInteger waking = new AtomicInteger();
  private volatile int awake;
  private volatile int callsInFlight;

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
    return callsInFlight;
  }

  public void awake(int sessions) {
    awake = sessions;
  }

  public void callsInFlight(int calls) {
    callsInFlight = calls;
  }

  public void wakes() {
    waking.incrementAndGet();
  }

  public void woke() {
    waking.decrementAndGet();
  }
}
