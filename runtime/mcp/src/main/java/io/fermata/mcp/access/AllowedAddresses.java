package io.fermata.mcp.access;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the hosts and origins that are allowed, in the form that requests have them. What no
 * request can have is refused: it would be allowed in vain.
 */
public final class AllowedAddresses {
  private static final Pattern NAME = Pattern.compile("[^\\s:/?#@*\\[\\]]+");
  private static final Pattern NUMBERS = Pattern.compile("\\[[0-9a-f:.]+]");

  /** What may surround a host: a scheme, a port, a path. */
  private static final Pattern SURROUNDED =
      Pattern.compile(
          "(?:[a-z][a-z0-9+.-]*://)?(\\[[^\\]]*]|[^\\s:/?#@*\\[\\]]+)(?::\\d+)?(?:[/?#].*)?");

  private static final Pattern ORIGIN =
      Pattern.compile(
          "([a-z][a-z0-9+.-]*)://(\\[[0-9a-f:.]+]|[^\\s:/?#@*\\[\\]]+)(?::(\\d{1,5}))?/?");

  private static final Pattern LONGER_ORIGIN =
      Pattern.compile("(?:([a-z][a-z0-9+.-]*)://)?(?:[^/?#@]*@)?([^\\s/?#@*]+)(?:[/?#].*)?");

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
    if (isHost(name)) {
      return canonical(name);
    }
    Matcher more = SURROUNDED.matcher(text);
    if (more.matches() && isHost(more.group(1))) {
      throw new IllegalArgumentException(
          "The allowed host %s has more than a name: write %s".formatted(allowed, more.group(1)));
    }
    throw new IllegalArgumentException(
        "The allowed host \"%s\" is not a host name: write one such as flows.example.com"
            .formatted(allowed));
  }

  /**
   * The origin as browsers send it, without the default port.
   *
   * @throws IllegalArgumentException if it is not an origin
   */
  public static String origin(String allowed) {
    String text = allowed.strip().toLowerCase(Locale.ROOT);
    Matcher parts = ORIGIN.matcher(text);
    if (parts.matches()) {
      return origin(parts);
    }
    Matcher more = LONGER_ORIGIN.matcher(text);
    if (more.matches()) {
      String scheme = more.group(1) == null ? "https" : more.group(1);
      Matcher meant = ORIGIN.matcher(scheme + "://" + more.group(2));
      if (meant.matches()) {
        throw new IllegalArgumentException(
            "The allowed origin %s is not one: write %s".formatted(allowed, origin(meant)));
      }
    }
    throw new IllegalArgumentException(
        "The allowed origin \"%s\" is not an origin: write one such as https://app.example.com"
            .formatted(allowed));
  }

  private static String origin(Matcher parts) {
    String scheme = parts.group(1);
    String port = parts.group(3);
    String site = scheme + "://" + parts.group(2);
    boolean usual =
        port == null
            || ("http".equals(scheme) && "80".equals(port))
            || ("https".equals(scheme) && "443".equals(port));
    return usual ? site : site + ":" + port;
  }

  private static boolean isHost(String name) {
    return NAME.matcher(name).matches() || (isNumeric(name) && !canonical(name).isEmpty());
  }

  private static boolean isNumeric(String name) {
    return NUMBERS.matcher(name).matches();
  }

  /**
   * A host in lower-case letters; of an IPv6 address, the one form of all that it may have. Empty
   * if it is none.
   */
  static String canonical(String host) {
    String name = host.toLowerCase(Locale.ROOT);
    if (!isNumeric(name)) {
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
