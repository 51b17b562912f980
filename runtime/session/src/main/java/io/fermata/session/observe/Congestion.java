package io.fermata.session.observe;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.function.LongSupplier;

/**
 * Whether calls wait for the host itself: until their session is awake and has a thread, or until
 * the store has persisted what sessions write. What people and handlers take does not count.
 *
 * <p>A burst makes some calls wait, and then it is over. If in a whole second even the call that
 * waited least waited too long, more calls arrive than the host can handle. Of a few calls it
 * cannot be said.
 */
public final class Congestion {
  private static final long INTERVAL = TimeUnit.SECONDS.toNanos(1);

  /** How many must have waited. */
  private static final int FEW = 5;

  private final long longest;
  private final LongSupplier nanos;
  private final Waits sessions = new Waits();
  private final Waits appends = new Waits();
  private long begun;

  /**
   * @param longest how long calls may wait
   * @param nanos the time that passes for the machine
   */
  public Congestion(Duration longest, LongSupplier nanos) {
    this.longest = longest.toNanos();
    this.nanos = nanos;
    this.begun = nanos.getAsLong();
  }

  public Duration longest() {
    return Duration.ofNanos(longest);
  }

  /** The time, of which {@link #reached} gets that at which a call was sent. */
  public long now() {
    return nanos.getAsLong();
  }

  /** A call has reached its session. */
  public void reached(long sent) {
    sessions.add(nanos.getAsLong() - sent);
  }

  /** The store has persisted what a session wrote. */
  public void appended(long waitedNanos) {
    appends.add(waitedNanos);
  }

  public boolean isCongested() {
    return sessions.tooLong || appends.tooLong;
  }

  /** Looks at the last interval, if it is over. Called by one thread at a time. */
  public void look() {
    long now = nanos.getAsLong();
    if (now - begun >= INTERVAL) {
      begun = now;
      sessions.look(longest);
      appends.look(longest);
    }
  }

  private static final class Waits {
    private final LongAccumulator least = new LongAccumulator(Math::min, Long.MAX_VALUE);
    private final AtomicInteger count = new AtomicInteger();
    private volatile boolean tooLong;

    void add(long nanos) {
      least.accumulate(nanos);
      count.incrementAndGet();
    }

    void look(long longest) {
      int waited = count.getAndSet(0);
      long shortest = least.getThenReset();
      tooLong = waited >= FEW && shortest > longest;
    }
  }
}
