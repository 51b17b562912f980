package io.fermata.mcp.http;

import io.fermata.mcp.access.RateLimitedLog;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Refusal;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The connections of all event loops, bounded in all and per address.
 *
 * <p>Opening a connection is free for anybody, so a new one is never turned away for one that does
 * no work: it replaces the least recently used connection that serves no authenticated request. If
 * there is none, the new connection is kept in a reserve. There health and metrics are served, and
 * other requests only once there is room.
 */
public final class Connections {
  private final HttpLimits limits;
  private final Telemetry telemetry;
  private final RateLimitedLog log;

  private final Set<OpenConnection> open = new LinkedHashSet<>();
  private final Set<OpenConnection> reserve = new LinkedHashSet<>();
  private final Map<String, Integer> perNetwork = new HashMap<>();

  /**
   * @param nanos the time, in nanoseconds; it never goes back
   */
  public Connections(HttpLimits limits, Telemetry telemetry, LongSupplier nanos) {
    this.limits = limits;
    this.telemetry = telemetry;
    this.log = new RateLimitedLog(LoggerFactory.getLogger(Connections.class), nanos);
  }

  /** How many connections are open. */
  public synchronized int count() {
    return open.size() + reserve.size();
  }

  synchronized void opened(OpenConnection connection) {
    if (!makeRoom(connection)) {
      if (reserve.size() >= HttpLimits.RESERVE) {
        closed(leastUsed(reserve, any -> true), "the reserve for health and metrics is full");
      }
      reserve.add(connection);
    }
  }

  synchronized void closed(OpenConnection connection) {
    reserve.remove(connection);
    if (open.remove(connection)) {
      perNetwork.computeIfPresent(
          connection.network(), (network, count) -> count == 1 ? null : count - 1);
    }
  }

  /** Whether a connection may be used for other requests than those of operators. */
  boolean mayServe(OpenConnection connection) {
    if (reserved(connection)) {
      telemetry.refused(Refusal.NO_ROOM);
      log.warn(
          "A request of {} was refused with 503, as all connections are in use"
              + " (maxConnections {}, maxConnectionsPerAddress {})",
          connection.address(),
          limits.maxConnections(),
          limits.maxPerAddress());
      return false;
    }
    return true;
  }

  private synchronized boolean reserved(OpenConnection connection) {
    if (!reserve.contains(connection)) {
      return false;
    }
    reserve.remove(connection);
    if (makeRoom(connection)) {
      return false;
    }
    reserve.add(connection);
    return true;
  }

  /** A request did not arrive in time. */
  void late(OpenConnection connection) {
    telemetry.refused(Refusal.LATE);
    log.warn(
        "A connection of {} is closed, as its request did not arrive within {} (requestTimeout)",
        connection.address(),
        limits.requestTimeout());
  }

  private boolean makeRoom(OpenConnection connection) {
    String network = connection.network();
    if (perNetwork.getOrDefault(network, 0) >= limits.maxPerAddress()
        && !closed(
            leastUsed(open, other -> other.spare() && other.network().equals(network)),
            "its address has maxConnectionsPerAddress connections")) {
      return false;
    }
    if (open.size() >= limits.maxConnections()
        && !closed(leastUsed(open, OpenConnection::spare), "there are maxConnections")) {
      return false;
    }
    open.add(connection);
    perNetwork.merge(network, 1, Integer::sum);
    return true;
  }

  private static @Nullable OpenConnection leastUsed(
      Set<OpenConnection> among, Predicate<OpenConnection> which) {
    OpenConnection least = null;
    for (OpenConnection each : among) {
      if ((least == null || each.usedAt() - least.usedAt() < 0) && which.test(each)) {
        least = each;
      }
    }
    return least;
  }

  private boolean closed(@Nullable OpenConnection spare, String why) {
    if (spare != null) {
      close(spare, why);
    }
    return spare != null;
  }

  private void close(OpenConnection spare, String why) {
    closed(spare);
    spare.connection().close();
    telemetry.refused(Refusal.REPLACED);
    log.warn(
        "A connection of {} without a call was closed for a new one: {}", spare.address(), why);
  }
}
