package io.fermata.mcp.access;

import java.util.Arrays;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/** Logs what strangers can cause at will: a few lines at once, then one per some seconds. */
public final class RateLimitedLog {
  private static final int BURST = 5;
  private static final double PER_SECOND = 0.2;

  private final Logger log;
  private final LongSupplier nanos;
  private final TokenBucket lines;
  private long left;

  public RateLimitedLog(Logger log, LongSupplier nanos) {
    this.log = log;
    this.nanos = nanos;
    this.lines = new TokenBucket(BURST, PER_SECOND, nanos.getAsLong());
  }

  /** Logs a warning, and how many were left out since the last line. */
  public void warn(String format, Object... arguments) {
    long missing;
    synchronized (this) {
      if (lines.take(1, nanos.getAsLong()) > 0) {
        left++;
        return;
      }
      missing = left;
      left = 0;
    }
    if (missing == 0) {
      log.warn(format, arguments);
    } else {
      Object[] all = Arrays.copyOf(arguments, arguments.length + 1);
      all[arguments.length] = missing;
      log.warn(format + " ({} more were not logged)", all);
    }
  }
}
