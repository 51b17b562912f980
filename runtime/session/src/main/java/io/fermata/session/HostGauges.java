package io.fermata.session;

import java.util.concurrent.atomic.AtomicInteger;

/** How much a host has to do, as its actors say. */
final class HostGauges implements Telemetry.Gauges {
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

  void awake(int sessions) {
    awake = sessions;
  }

  void callsInFlight(int calls) {
    callsInFlight = calls;
  }

  void wakes() {
    waking.incrementAndGet();
  }

  void woke() {
    waking.decrementAndGet();
  }
}
