package io.fermata.mcp.http;

import io.fermata.flow.json.Limits;
import io.fermata.mcp.rpc.JsonRpcCodec;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Limits of HTTP connections and bodies.
 *
 * @param maxPerAddress connections of one address
 * @param requestTimeout how long the headers of the first request and each body may take
 * @param idleTimeout how long a connection may be silent; headers that are not complete are
 *     silence, so those of a later request must arrive within it after the last response; zero for
 *     no limit
 */
public record HttpLimits(
    int maxConnections, int maxPerAddress, Duration requestTimeout, Duration idleTimeout) {
  static final int MAX_HEADERS = 16 * 1024;
  static final int MAX_FIRST_LINE = 4 * 1024;

  /** The connections beyond the limit, on which only health and metrics are served. */
  static final int RESERVE = 64;

  /** How long a client may still read what it was answered on a connection that is closed. */
  static final long LINGER_MILLIS = 500;

  private static final Duration SHORTEST_IDLE = Duration.ofMillis(10);
  private static final Duration LONGEST_HEARTBEAT = Duration.ofSeconds(15);

  /** How much of an oversized body is read and discarded before the connection is closed. */
  static final long MAX_DISCARDED = 16L * JsonRpcCodec.MAX_BYTES;

  public static final HttpLimits DEFAULT =
      new HttpLimits(4_096, 2_048, Duration.ofSeconds(30), Duration.ofMinutes(2));

  public HttpLimits {
    requirePositive("maxConnections", maxConnections);
    requirePositive("maxConnectionsPerAddress", maxPerAddress);
    Objects.requireNonNull(requestTimeout, "requestTimeout");
    Objects.requireNonNull(idleTimeout, "idleTimeout");
    if (requestTimeout.isNegative() || requestTimeout.isZero()) {
      throw new IllegalArgumentException(
          "requestTimeout must be more than zero, not " + requestTimeout);
    }
    if (!idleTimeout.isZero() && idleTimeout.compareTo(SHORTEST_IDLE) < 0) {
      throw new IllegalArgumentException(
          "idleTimeout must be at least %s ms, or zero for no limit, not %s"
              .formatted(SHORTEST_IDLE.toMillis(), idleTimeout));
    }
    Limits.requireCountable("requestTimeout", requestTimeout);
    Limits.requireCountable("idleTimeout", idleTimeout);
  }

  private static void requirePositive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, not " + value);
    }
  }

  public HttpLimits maxConnections(int limit) {
    return new HttpLimits(limit, maxPerAddress, requestTimeout, idleTimeout);
  }

  public HttpLimits maxPerAddress(int limit) {
    return new HttpLimits(maxConnections, limit, requestTimeout, idleTimeout);
  }

  public HttpLimits requestTimeout(Duration limit) {
    return new HttpLimits(maxConnections, maxPerAddress, limit, idleTimeout);
  }

  public HttpLimits idleTimeout(Duration limit) {
    return new HttpLimits(maxConnections, maxPerAddress, requestTimeout, limit);
  }

  /** How long a connection may be silent so that it surely stays open, at most {@code most}. */
  public Duration silence(Duration most) {
    Duration half = idleTimeout.dividedBy(2);
    return half.isZero() || half.compareTo(most) > 0 ? most : half;
  }

  /** The time between two comments that keep the connection of a stream open. */
  public Duration heartbeat() {
    return silence(LONGEST_HEARTBEAT);
  }

  /**
   * How long a client can wait for a response that is not a stream, before its idle connection is
   * closed; null for no limit.
   */
  public @Nullable Duration responseTimeout() {
    return idleTimeout.isZero() ? null : idleTimeout.multipliedBy(5).dividedBy(6);
  }
}
