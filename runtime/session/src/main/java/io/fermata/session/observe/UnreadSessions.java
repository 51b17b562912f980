package io.fermata.session.observe;

import io.fermata.persistence.spi.StoreProblem;
import io.fermata.session.key.StoreTroubles;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Logs sessions whose journals could not be read. In an outage of the store every session fails
 * with each call, so one line stands for those of some seconds; what no outage explains is logged
 * each time.
 */
public final class UnreadSessions {
  private static final Duration EVERY = Duration.ofSeconds(10);

  private final LongSupplier nanos;
  private boolean logged;
  private long at;
  private long others;

  /**
   * @param nanos the time that passes for the machine
   */
  public UnreadSessions(LongSupplier nanos) {
    this.nanos = nanos;
  }

  public synchronized void log(Logger log, String entityId, Throwable failure) {
    String more = "";
    if (StoreProblem.of(failure) != StoreProblem.REFUSES) {
      long now = nanos.getAsLong();
      if (logged && now - at < EVERY.toNanos()) {
        others++;
        return;
      }
      more = others == 0 ? "" : " and %s more since the last such line".formatted(others);
      logged = true;
      at = now;
      others = 0;
    }
    StoreTroubles.warn(
        log, "Session " + entityId + more + " could not be read and is retried", failure);
  }
}
