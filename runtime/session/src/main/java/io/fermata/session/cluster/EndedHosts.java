package io.fermata.session.cluster;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.pekko.actor.Address;
import org.jspecify.annotations.Nullable;

/**
 * Tells a host whose process has ended from one that cannot be reached for another reason. It has
 * ended if its address refuses connections and the store does not renew its heartbeat, while it
 * renews that of this host. A paused host still accepts connections, and one that is cut off from
 * this host still has a heartbeat; of a machine that is gone nobody refuses anything.
 */
final class EndedHosts {
  /** A host renews its heartbeat each second. */
  private static final Duration SILENT = Duration.ofSeconds(2);

  private static final Duration ANSWERS = Duration.ofMillis(200);

  /**
   * A heartbeat as it was found in the store.
   *
   * @param clock the time of its host, which each renewal changes
   * @param foundNanos when it was found first
   */
  private record Heartbeat(long clock, long foundNanos) {}

  private final Predicate<Address> refuses;
  private final LongSupplier nanos;

  /** The latest heartbeats, by address. */
  private final Map<String, Heartbeat> heartbeats = new HashMap<>();

  private long lookedNanos;

  EndedHosts(Predicate<Address> refuses, LongSupplier nanos) {
    this.refuses = refuses;
    this.nanos = nanos;
    this.lookedNanos = nanos.getAsLong() - SILENT.toNanos() - 1;
  }

  /** The store has renewed the heartbeat of this host, and has these. */
  void seen(List<Peer> hosts) {
    lookedNanos = nanos.getAsLong();
    // The host that has an address now may not be the first there.
    Map<String, Long> clocks =
        hosts.stream().collect(Collectors.toMap(Peer::address, Peer::clock, Math::max));
    heartbeats.keySet().retainAll(clocks.keySet());
    clocks.forEach(
        (address, clock) ->
            heartbeats.merge(
                address,
                new Heartbeat(clock, lookedNanos),
                (before, now) -> before.clock() == now.clock() ? before : now));
  }

  /** Whether the process of a host that cannot be reached has ended. */
  boolean hasEnded(Address host) {
    return isSilent(heartbeats.get(host.toString())) && refuses.test(host);
  }

  private boolean isSilent(@Nullable Heartbeat heartbeat) {
    boolean looked = nanos.getAsLong() - lookedNanos <= SILENT.toNanos();
    return looked
        && (heartbeat == null || lookedNanos - heartbeat.foundNanos() >= SILENT.toNanos());
  }

  /**
   * Whether nobody listens at an address, as the machine there says, or a proxy there, which can
   * only close what it has accepted. A host waits for what it is sent.
   */
  static boolean refuses(Address host) {
    InetSocketAddress address =
        new InetSocketAddress(host.getHost().orElseThrow(), host.getPort().orElseThrow());
    try (Socket socket = new Socket()) {
      socket.connect(address, (int) ANSWERS.toMillis());
      socket.setSoTimeout((int) ANSWERS.toMillis());
      return isClosed(socket);
    } catch (ConnectException refused) {
      return true;
    } catch (IOException unknown) {
      return false;
    }
  }

  private static boolean isClosed(Socket socket) throws SocketTimeoutException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException waits) {
      throw waits;
    } catch (IOException reset) {
      return true;
    }
  }
}
