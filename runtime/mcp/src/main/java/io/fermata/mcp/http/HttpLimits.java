package io.fermata.mcp.http;

import io.fermata.mcp.rpc.JsonRpcCodec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one HTTP client may take up. */
public record HttpLimits(int maxConnections, Duration idleTimeout) {
  static final int MAX_HEADERS = 16 * 1024;
  static final int MAX_FIRST_LINE = 4 * 1024;

  /** The time between two comments in a stream, which keep its connection from being cut. */
  public static final Duration HEARTBEAT = Duration.ofSeconds(15);

  /** How much of a body that is too long is read and thrown away before the connection is cut. */
  static final long MAX_DISCARDED = 16L * JsonRpcCodec.MAX_BYTES;

  public static final HttpLimits DEFAULT = new HttpLimits(4_096, Duration.ofMinutes(2));

  /**
   * How long an answer can be waited for that is no stream: the connection is closed for silence.
   * Null for however long it takes.
   */
  public @Nullable Duration patience() {
    return idleTimeout.isZero() ? null : idleTimeout.multipliedBy(5).dividedBy(6);
  }
}
