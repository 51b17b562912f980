package io.fermata.mcp.http;

import io.fermata.mcp.rpc.JsonRpcCodec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Limits of HTTP connections and bodies. */
public record HttpLimits(int maxConnections, Duration idleTimeout) {
  static final int MAX_HEADERS = 16 * 1024;
  static final int MAX_FIRST_LINE = 4 * 1024;

  /** The time between two comments that keep the connection of a stream open. */
  public static final Duration HEARTBEAT = Duration.ofSeconds(15);

  /** How much of an oversized body is read and discarded before the connection is closed. */
  static final long MAX_DISCARDED = 16L * JsonRpcCodec.MAX_BYTES;

  public static final HttpLimits DEFAULT = new HttpLimits(4_096, Duration.ofMinutes(2));

  /**
   * How long a client can wait for a response that is not a stream, before its idle connection is
   * closed; null for no limit.
   */
  public @Nullable Duration responseTimeout() {
    return idleTimeout.isZero() ? null : idleTimeout.multipliedBy(5).dividedBy(6);
  }
}
