package io.fermata.session.admin;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a host joins the cluster of the hosts that share its store.
 *
 * @param address where other hosts reach this one; a loopback address if all run on one machine
 * @param port 0 for any free one
 * @param tls the directory of the certificate by which hosts encrypt and recognize each other; null
 *     without one
 * @param plaintext whether hosts may talk unencrypted although the address is no loopback address
 * @param handOver how long a session may work on when its shard moves to another host; then its
 *     effects are cancelled and attempted again there, and its callers are to call again
 */
public record ClusterSettings(
    String address, int port, @Nullable Path tls, boolean plaintext, Duration handOver) {

  /** All hosts on this machine. */
  public static final ClusterSettings LOCAL =
      new ClusterSettings("127.0.0.1", 0, null, false, Duration.ofSeconds(5));

  public ClusterSettings {
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("The port is " + port + "; use 0 to 65535, 0 for any");
    }
    if (handOver.isNegative() || handOver.compareTo(Duration.ofSeconds(50)) > 0) {
      throw new IllegalArgumentException(
          "A shard cannot be handed over in " + handOver + "; allow 0 to 50 seconds");
    }
  }

  /** Where other hosts reach this one. */
  public static ClusterSettings at(String address) {
    return new ClusterSettings(address, 0, null, false, LOCAL.handOver);
  }

  public ClusterSettings port(int number) {
    return new ClusterSettings(address, number, tls, plaintext, handOver);
  }

  /**
   * Hosts talk by TLS, and only with hosts whose certificate is of the same authority and has a
   * name of this one's. The files are read again every five minutes, so they may be renewed.
   *
   * @param directory has the files {@code tls.crt}, {@code tls.key} and {@code ca.crt}: PEM, the
   *     key RSA, the certificate signed by the authority itself
   */
  public ClusterSettings tls(Path directory) {
    return new ClusterSettings(address, port, directory, plaintext, handOver);
  }

  /** Hosts talk unencrypted, in a network that nobody else can read or write. */
  public ClusterSettings inPlaintext() {
    return new ClusterSettings(address, port, tls, true, handOver);
  }

  public ClusterSettings handOver(Duration time) {
    return new ClusterSettings(address, port, tls, plaintext, time);
  }

  /** Whether only this machine can reach the address. */
  public boolean isLocal() {
    return address.startsWith("127.") || address.equals("localhost") || address.equals("::1");
  }
}
