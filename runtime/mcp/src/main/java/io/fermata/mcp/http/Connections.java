package io.fermata.mcp.http;

import io.fermata.mcp.access.RateLimitedLog;
import io.fermata.session.observe.Telemetry;
import io.fermata.session.observe.Telemetry.Refusal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
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
 * no work: it replaces the least recently used connection that has no authenticated request, or if
 * there is none, one whose request is still arriving. If there is neither, the new connection is
 * kept in a reserve. There health and metrics are served, and other requests only once there is
 * room.
 */
public final class Connections {
  private record Evicted(OpenConnection connection, String why) {}

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

  /** How many connections are open, without those that were replaced. */
  public synchronized int count() {
    return open.size() + reserve.size();
  }

  void opened(OpenConnection connection) {
    List<Evicted> evicted = new ArrayList<>();
    synchronized (this) {
      if (!makeRoom(connection, evicted)) {
        if (reserve.size() >= HttpLimits.RESERVE) {
          evict(
              leastUsed(reserve, any -> true),
              "the reserve for health and metrics is full",
              evicted);
        }
        reserve.add(connection);
        connection.reserve(true);
      }
    }
    evicted.forEach(this::close);
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
    if (connection.reserved() && !leavesReserve(connection)) {
      Refusals.count(telemetry, Refusal.NO_ROOM, 1);
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

  private boolean leavesReserve(OpenConnection connection) {
    List<Evicted> evicted = new ArrayList<>();
    boolean room;
    synchronized (this) {
      room = reserve.contains(connection) && makeRoom(connection, evicted);
      if (room) {
        reserve.remove(connection);
        connection.reserve(false);
      }
    }
    evicted.forEach(this::close);
    return room;
  }

  /** A request did not arrive in time. */
  void late(OpenConnection connection) {
    Refusals.count(telemetry, Refusal.LATE, 1);
    log.warn(
        "A connection of {} is closed, as its request did not arrive within {} (requestTimeout)",
        connection.address(),
        limits.requestTimeout());
  }

  private boolean makeRoom(OpenConnection connection, List<Evicted> evicted) {
    String network = connection.network();
    if (perNetwork.getOrDefault(network, 0) >= limits.maxPerAddress()) {
      if (!evict(
          leastUsed(other -> other.network().equals(network)),
          "its address has maxConnectionsPerAddress connections",
          evicted)) {
        return false;
      }
    } else if (open.size() >= limits.maxConnections()
        && !evict(leastUsed(any -> true), "there are maxConnections", evicted)) {
      return false;
    }
    open.add(connection);
    perNetwork.merge(network, 1, Integer::sum);
    return true;
  }

  /** Who has a key keeps its place while there is anybody without one. */
  private @Nullable OpenConnection leastUsed(Predicate<OpenConnection> which) {
    OpenConnection spare = leastUsed(open, which.and(OpenConnection::spare));
    return spare != null ? spare : leastUsed(open, which.and(OpenConnection::idle));
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

  private boolean evict(@Nullable OpenConnection spare, String why, List<Evicted> evicted) {
    if (spare == null) {
      return false;
    }
    closed(spare);
    spare.replace();
    evicted.add(new Evicted(spare, why));
    return true;
  }

  /** Not under the lock: an event loop may wait for it while it holds that of a connection. */
  private void close(Evicted evicted) {
    OpenConnection spare = evicted.connection();
    spare.close();
    Refusals.count(telemetry, Refusal.REPLACED, 1);
    log.warn(
        "A connection of {} without a call was closed for a new one: {}",
        spare.address(),
        evicted.why());
  }
}
