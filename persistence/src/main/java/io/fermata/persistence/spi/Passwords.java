package io.fermata.persistence.spi;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keeps passwords out of messages. */
public final class Passwords {

  /**
   * A password may contain any separator, so it ends at the last "@"; an "@" behind a parameter
   * with a password may be part of that.
   */
  private static final Pattern PASSWORD =
      Pattern.compile(
          "(?<=//)([^:/?@]*):(?:.*(?i:password)=.*@.*|.*(?=@))|((?i:ssl)?(?i:password))=[^&]*");

  private Passwords() {}

  /** An address with its passwords replaced by an ellipsis. */
  public static String mask(String address) {
    Matcher password = PASSWORD.matcher(address);
    return password.replaceAll(
        found -> found.group(1) != null ? Matcher.quoteReplacement(found.group(1)) + ":…" : "$2=…");
  }
}
