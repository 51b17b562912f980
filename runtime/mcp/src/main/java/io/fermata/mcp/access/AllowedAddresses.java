package io.fermata.mcp.access;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the hosts and origins that are allowed, in the form that requests have them. What no
 * request can have is refused: it would be allowed in vain.
 */
public final class AllowedAddresses {
  /** Scheme, user, host, port, and what follows; names may have what URIs do not allow. */
  private static final Pattern ADDRESS =
      Pattern.compile(
          "(?:([a-z][a-z0-9+.-]*)://)?([^/?#@]*@)?(\\[[0-9a-f:.]+]|[^\\s:/?#@*\\[\\]]+)(?::(\\d{1,5}))?([/?#].*)?");

  private static final Pattern IPV6 = Pattern.compile("\\[[0-9a-f:.]+]");

  private AllowedAddresses() {}

  /**
   * The host as {@link #canonical} returns that of a request.
   *
   * @throws IllegalArgumentException if it is no host name, or more than one
   */
  public static String host(String allowed) {
    String text = allowed.strip().toLowerCase(Locale.ROOT);
    boolean bare = text.indexOf(':') != text.lastIndexOf(':') && text.matches("[0-9a-f:.]+");
    String name = bare ? "[" + text + "]" : text;
    Matcher parts = ADDRESS.matcher(name);
    String host = parts.matches() && parts.group(2) == null ? canonical(parts.group(3)) : "";
    if (host.isEmpty()) {
      throw new IllegalArgumentException(
          "The allowed host \"%s\" is not a host name: write one such as flows.example.com"
              .formatted(allowed));
    } else if (!parts.group(3).equals(name)) {
      throw new IllegalArgumentException(
          "The allowed host %s has more than a name: write %s".formatted(allowed, parts.group(3)));
    }
    return host;
  }

  /**
   * The origin as browsers send it, without the default port.
   *
   * @throws IllegalArgumentException if it is not an origin
   */
  public static String origin(String allowed) {
    Matcher parts = ADDRESS.matcher(allowed.strip().toLowerCase(Locale.ROOT));
    String meant = parts.matches() ? origin(parts) : null;
    if (meant == null) {
      throw new IllegalArgumentException(
          "The allowed origin \"%s\" is not an origin: write one such as https://app.example.com"
              .formatted(allowed));
    }
    boolean path = parts.group(5) != null && !parts.group(5).equals("/");
    if (parts.group(1) == null || parts.group(2) != null || path) {
      throw new IllegalArgumentException(
          "The allowed origin %s is not one: write %s".formatted(allowed, meant));
    }
    return meant;
  }

  /** Null if no request can have it. */
  private static @Nullable String origin(Matcher parts) {
    String scheme = parts.group(1) == null ? "https" : parts.group(1);
    int usual = scheme.equals("https") ? 443 : scheme.equals("http") ? 80 : -1;
    int port = parts.group(4) == null ? usual : Integer.parseInt(parts.group(4));
    String host = parts.group(3);
    return canonical(host).isEmpty() || port > 65_535
        ? null
        : scheme + "://" + host + (port == usual ? "" : ":" + port);
  }

  /**
   * A host in lower-case letters; of an IPv6 address, the one form of all that it may have. Empty
   * if it is none.
   */
  static String canonical(String host) {
    String name = host.toLowerCase(Locale.ROOT);
    if (!IPV6.matcher(name).matches()) {
      return name;
    }
    try {
      // In brackets it is never looked up.
      return InetAddress.getByName(name).getHostAddress();
    } catch (UnknownHostException e) {
      return "";
    }
  }
}
