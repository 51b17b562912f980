package io.fermata.mcp;

import java.time.Duration;

/** What one HTTP client may take up. */
record HttpLimits(int maxConnections, Duration idleTimeout) {
  static final int MAX_HEADERS = 16 * 1024;
  static final int MAX_FIRST_LINE = 4 * 1024;

  /** How much of a body that is too long is read and thrown away before the connection is cut. */
  static final long MAX_DISCARDED = 16L * Wire.MAX_BYTES;

  static final HttpLimits DEFAULT = new HttpLimits(4_096, Duration.ofMinutes(2));
}
