package io.fermata.mcp.access;

import io.fermata.mcp.rpc.RpcException;
import io.fermata.mcp.settings.TrustedUri;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Validates {@code Host} and {@code Origin}, so that no web page reaches a local server through DNS
 * rebinding.
 */
public final class OriginGuard {

  private final Set<String> hosts = new HashSet<>();
  private final Set<String> origins = new HashSet<>();

  public OriginGuard(Collection<String> moreHosts, Collection<String> moreOrigins) {
    TrustedUri.LOOPBACK.forEach(host -> hosts.add(AllowedAddresses.canonical(host)));
    moreHosts.forEach(host -> hosts.add(AllowedAddresses.canonical(host)));
    moreOrigins.forEach(origin -> origins.add(lower(origin)));
  }

  /** The reason to reject a request; null if it is allowed. */
  public @Nullable RpcException rejection(List<String> hostHeaders, List<String> originHeaders) {
    if (hostHeaders.size() != 1) {
      return RpcException.http(400, "A request must have exactly one Host header.");
    }
    String host = withoutPort(hostHeaders.get(0));
    if (!hosts.contains(AllowedAddresses.canonical(host))) {
      return RpcException.http(
          403,
          "The host '%s' is not served here: name it as an allowed host when starting the server."
              .formatted(RpcException.abbreviate(host)));
    }
    for (String origin : originHeaders) {
      if (!allowed(lower(origin))) {
        return RpcException.http(
            403,
            "The origin '%s' is not allowed: name it as an allowed origin when starting the server."
                .formatted(RpcException.abbreviate(origin)));
      }
    }
    return null;
  }

  private boolean allowed(String origin) {
    if (origins.contains(origin)) {
      return true;
    }
    try {
      URI uri = new URI(origin);
      String scheme = uri.getScheme();
      return ("http".equals(scheme) || "https".equals(scheme))
          && uri.getHost() != null
          && TrustedUri.LOOPBACK.contains(uri.getHost());
    } catch (URISyntaxException e) {
      return false;
    }
  }

  private static String withoutPort(String host) {
    int colon = host.lastIndexOf(':');
    return colon > host.lastIndexOf(']') ? host.substring(0, colon) : host;
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }
}
