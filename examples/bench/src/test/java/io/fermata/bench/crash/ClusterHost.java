package io.fermata.bench.crash;

import io.fermata.flow.json.Json;
import io.fermata.ports.Ports;
import io.fermata.postgres.Cable;
import io.fermata.postgres.PostgresServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A place in the cluster, at which a server is started again whenever it has ended, as a container
 * is. It has one address for clients and one for the other hosts, which reach it through a cable,
 * as it reaches the database.
 */
final class ClusterHost {
  private static final long PAUSE_NANOS = 100_000_000;

  /** Clients leave it out for as long after it did not answer at all. */
  private static final long AVOIDED_NANOS = 10_000_000_000L;

  private static final int SILENT_MILLIS = 1_000;

  private final int number;
  private final String store;
  private final Path effects;
  private final Cable database;
  private final Cable peers;
  private final int port;
  private final int boundPort;
  private final Thread supervisor = new Thread(this::supervise, "supervisor");

  /** The exit codes of the processes that have ended. */
  private final Queue<Integer> ends = new ConcurrentLinkedQueue<>();

  private volatile @Nullable Killable running;
  private volatile long since;
  private volatile long avoidedUntil = System.nanoTime();
  private volatile boolean held;
  private volatile boolean closed;

  private ClusterHost(
      int number, String store, Path effects, Cable database, Cable peers, int port, int bound) {
    this.number = number;
    this.store = store;
    this.effects = effects;
    this.database = database;
    this.peers = peers;
    this.port = port;
    this.boundPort = bound;
  }

  static ClusterHost start(int number, PostgresServer postgres, String store, Path effects) {
    Cable database = Cable.to(postgres);
    int bound = Ports.free();
    ClusterHost host =
        new ClusterHost(
            number,
            database.through(store),
            effects,
            database,
            Cable.to(bound),
            Ports.free(),
            bound);
    host.supervisor.start();
    return host;
  }

  private void supervise() {
    while (!closed) {
      if (held) {
        LockSupport.parkNanos(PAUSE_NANOS);
        continue;
      }
      try {
        Killable started = Killable.start(store, effects, options(), ports());
        since = System.nanoTime();
        running = started;
        int code = started.process().waitFor();
        running = null;
        ends.add(code);
      } catch (IOException e) {
        // It could not join, as it was cut off; it is tried again.
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private String[] ports() {
    return new String[] {Integer.toString(port), Integer.toString(peers.port())};
  }

  /** It calls the others from an address of its own, so that their cables know who calls. */
  private List<String> options() {
    return List.of(
        "-Xmx256m",
        "-Dpekko.remote.artery.bind.port=" + boundPort,
        "-Dpekko.remote.artery.advanced.tcp.outbound-client-hostname="
            + address().getHostAddress());
  }

  /** The address from which it calls the others. */
  InetAddress address() {
    try {
      return InetAddress.getByAddress(new byte[] {127, 0, 0, (byte) (11 + number)});
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  int port() {
    return port;
  }

  /** Its network to the database. */
  Cable database() {
    return database;
  }

  /** What the other hosts send to it does not arrive. */
  void dropAllMessages() {
    peers.halt();
  }

  /** What a host sends to it does not arrive. */
  void dropMessagesOf(ClusterHost from) {
    peers.haltFrom(from.address());
  }

  void mend() {
    database.mend();
    peers.mend();
  }

  /** The server, once it is ready; null if it is not. */
  @Nullable Killable running() {
    return running;
  }

  /** Since when the server is ready; the oldest host of a cluster places the shards. */
  long since() {
    return since;
  }

  Queue<Integer> ends() {
    return ends;
  }

  /** Starts no server from now on, or starts servers again. */
  void hold(boolean holds) {
    held = holds;
  }

  /** Clients call other hosts for a while. */
  void avoid() {
    avoidedUntil = System.nanoTime() + AVOIDED_NANOS;
  }

  /** As {@link #avoid}, if it does not even say that it lives. */
  void avoidIfSilent() {
    try {
      HttpURLConnection connection = ask("/health/live");
      connection.getResponseCode();
      connection.disconnect();
    } catch (IOException e) {
      avoid();
    }
  }

  private HttpURLConnection ask(String path) throws IOException {
    URL url = URI.create("http://127.0.0.1:" + port + path).toURL();
    HttpURLConnection connection = (HttpURLConnection) url.openConnection();
    connection.setConnectTimeout(SILENT_MILLIS);
    connection.setReadTimeout(SILENT_MILLIS);
    return connection;
  }

  /** Whether this host sees no more members than these, whatever their state. */
  boolean sees(int members) {
    try (InputStream health = ask("/health").getInputStream()) {
      int seen =
          Json.parse(new String(health.readAllBytes(), StandardCharsets.UTF_8))
              .at("/cluster/members")
              .size();
      return seen > 0 && seen <= members;
    } catch (IOException e) {
      return false;
    }
  }

  boolean isAvoided() {
    return System.nanoTime() - avoidedUntil < 0;
  }

  void end() throws InterruptedException {
    closed = true;
    supervisor.interrupt();
    Killable last = running;
    if (last != null) {
      last.kill();
    }
    supervisor.join();
    database.close();
    peers.close();
  }

  @Override
  public String toString() {
    return "host " + number + (running == null ? " (not ready)" : "");
  }
}
