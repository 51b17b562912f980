package io.fermata.persistence.pekko;

import io.fermata.persistence.spi.StoreProblem;
import java.time.Duration;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Logs sessions whose journals could not be read or written. In an outage of the store every
 * session fails with each call, so one line stands for those of some seconds; what no outage
 * explains is logged each time.
 */
public final class SessionTroubles {
  private static final Duration EVERY = Duration.ofSeconds(10);

  /** What others on the same store need not have. */
  private static final Set<StoreProblem> CONCERNS_ONE =
      Set.of(StoreProblem.REFUSES, StoreProblem.DAMAGED);

  private final LongSupplier nanos;
  private final String what;
  private @Nullable StoreProblem logged;
  private long at;
  private long failed;
  private long others;
  private volatile boolean outage;

  /**
   * @param nanos the time that passes for the machine
   * @param what the end of the sentence that begins with the session
   */
  public SessionTroubles(LongSupplier nanos, String what) {
    this.nanos = nanos;
    this.what = what;
  }

  public synchronized void log(Logger log, String entityId, Throwable failure) {
    StoreProblem problem = StoreProblem.of(failure);
    String more = "";
    if (!CONCERNS_ONE.contains(problem)) {
      long now = nanos.getAsLong();
      failed = now;
      outage = outage || problem != StoreProblem.MOVED;
      if (problem == logged && now - at < EVERY.toNanos()) {
        others++;
        return;
      }
      more = more();
      logged = problem;
      at = now;
      others = 0;
    }
    StoreTroubles.warn(log, "Session " + entityId + more + " " + what, failure);
  }

  private String more() {
    return others == 0 ? "" : " and %s more since the last such line".formatted(others);
  }

  /** A journal was written. On a disk that is almost full, others may fail a moment later. */
  void written(Logger log) {
    if (outage) {
      logEnd(log);
    }
  }

  /** As a warning, for those who read no less of how the outage began. */
  private synchronized void logEnd(Logger log) {
    if (outage && nanos.getAsLong() - failed >= EVERY.toNanos()) {
      log.warn(
          "The store accepts writes again ({} more such failures since the last line)", others);
      outage = false;
      logged = null;
      others = 0;
    }
  }
}
