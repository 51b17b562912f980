package io.fermata.mcp;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The time that passes for the limits of a server: none, unless a test lets it pass. */
public final class ManualTime {
  private final AtomicLong nanos = new AtomicLong();

  /** A server for which this time passes. */
  public McpServerBuilder of(McpServerBuilder server) {
    return server.nanos(nanos::get);
  }

  public void pass(Duration duration) {
    nanos.addAndGet(duration.toNanos());
  }
}
