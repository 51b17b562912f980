package io.fermata.mcp.settings;

import java.net.URI;
import java.util.Set;

/** Addresses that an issuer may be fetched from: over TLS, or on this machine. */
public final class TrustedUri {
  /** The names of this machine, which no network lies between. */
  public static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

  private TrustedUri() {}

  /**
   * Parses an address whose answers can be trusted.
   *
   * @param what names the address in the message
   * @throws IllegalArgumentException if the keys found there could be somebody else's
   */
  public static URI require(String what, String address) {
    URI uri;
    try {
      uri = URI.create(address);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("The %s is no address: %s".formatted(what, address), e);
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
