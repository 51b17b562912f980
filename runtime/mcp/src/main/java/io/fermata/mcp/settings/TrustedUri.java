package io.fermata.mcp.settings;

import java.net.URI;
import java.util.Set;

/** Addresses from which the data of an issuer may be fetched: over TLS, or on this machine. */
public final class TrustedUri {
  /** The names of this machine, which is reached without a network. */
  public static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

  private TrustedUri() {}

  /**
   * Parses an address whose answers can be trusted.
   *
   * @param what the name of the address in the message
   * @throws IllegalArgumentException if the address is neither {@code https:} nor local, so that
   *     its answers could be forged
   */
  public static URI require(String what, String address) {
    URI uri;
    try {
      uri = URI.create(address);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "The %s is not an address: %s".formatted(what, address), e);
    }
    boolean local = uri.getHost() != null && LOOPBACK.contains(uri.getHost());
    if (uri.getHost() == null
        || !("https".equals(uri.getScheme()) || (local && "http".equals(uri.getScheme())))) {
      throw new IllegalArgumentException(
          "The %s must be an https: address, not %s".formatted(what, address));
    }
    return uri;
  }
}
