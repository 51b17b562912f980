package io.fermata.session.cluster;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.apache.pekko.actor.Address;
import org.apache.pekko.actor.AddressFromURIString;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.stream.StreamTcpException;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import org.apache.pekko.stream.javadsl.Tcp;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes a host whose process has ended from one that is unreachable for another reason. It
 * has ended if the store does not renew its heartbeat, while it renews that of this host, and its
 * address refuses connections or is that of a later process. A paused host still accepts
 * connections, and one that is cut off from this host still has a heartbeat; of a machine that is
 * gone nobody refuses anything.
 */
final class EndedHosts {
  /** A host renews its heartbeat each second. */
  private static final Duration SILENT = Duration.ofSeconds(2);

  private static final Duration ANSWERS = Duration.ofMillis(200);

  /**
   * A heartbeat as it was found in the store.
   *
   * @param foundNanos when it was found first
   * @param renewed whether another one of the host was found before
   */
  private record Heartbeat(Peer host, long foundNanos, boolean renewed) {}

  /**
   * What was found in the store.
   *
   * @param heartbeats by the uid of the host
   */
  private record Look(Map<Long, Heartbeat> heartbeats, long nanos) {
    boolean isSilent(long uid) {
      Heartbeat latest = heartbeats.get(uid);
      return latest == null || nanos - latest.foundNanos() >= SILENT.toNanos();
    }

    /** Whether another process renews the address, which this one thus has lost. */
    boolean isReplaced(String address) {
      return heartbeats.values().stream()
          .map(Heartbeat::host)
          .anyMatch(host -> host.address().equals(address) && !isSilent(host.uid()));
    }
  }

  private final Predicate<Address> refuses;
  private final LongSupplier nanos;
  private volatile @Nullable Look latest;

  EndedHosts(Predicate<Address> refuses, LongSupplier nanos) {
    this.refuses = refuses;
    this.nanos = nanos;
  }

  /** The store has renewed the heartbeat of this host, and has these. */
  void seen(List<Peer> hosts) {
    long now = nanos.getAsLong();
    Look last = latest;
    Map<Long, Heartbeat> heartbeats = new HashMap<>();
    for (Peer host : hosts) {
      Heartbeat before = last == null ? null : last.heartbeats().get(host.uid());
      // Each renewal changes the clock.
      boolean renewed = before == null || before.host().clock() != host.clock();
      heartbeats.put(host.uid(), renewed ? new Heartbeat(host, now, before != null) : before);
    }
    latest = new Look(heartbeats, now);
  }

  /**
   * Whether the host has renewed its heartbeat in the store since this one looks. In a copy of a
   * store the hosts of the one that was copied do not, although they live.
   */
  boolean renews(Peer host) {
    Look last = latest;
    Heartbeat found = last == null ? null : last.heartbeats().get(host.uid());
    return found != null && found.renewed();
  }

  /** Whether the process of a host that the store knows has ended; it may take a while to ask. */
  boolean hasEnded(Peer host) {
    return hasEnded(new UniqueAddress(AddressFromURIString.parse(host.address()), host.uid()));
  }

  /** Whether the process of a host that cannot be reached has ended; it may take a while to ask. */
  boolean hasEnded(UniqueAddress host) {
    Look last = latest;
    return last != null
        && nanos.getAsLong() - last.nanos() <= SILENT.toNanos()
        && last.isSilent(host.longUid())
        && (last.isReplaced(host.address().toString()) || refuses.test(host.address()));
  }

  /**
   * Whether nobody listens at an address, as the machine there says, or a proxy there, which can
   * only close what it has accepted. A host waits for what it is sent.
   */
  static boolean refuses(Address host, ActorSystem<?> system) {
    try {
      Source.<ByteString>maybe()
          .via(
              Tcp.get(system)
                  .outgoingConnection(host.getHost().orElseThrow(), host.getPort().orElseThrow()))
          .completionTimeout(ANSWERS)
          .runWith(Sink.ignore(), system)
          .toCompletableFuture()
          .join();
      return true;
    } catch (CompletionException e) {
      return e.getCause() instanceof StreamTcpException failed && isRefusal(failed.getCause());
    }
  }

  /** A connection that was accepted and then reset has no cause. */
  private static boolean isRefusal(@Nullable Throwable cause) {
    return cause == null || cause.getClass().getSimpleName().equals("ConnectException");
  }
}
