package io.fermata.mcp.access;

import io.fermata.flow.json.Texts;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Values of strangers as fields of a log line: quoted, so that none can look like another field.
 */
public final class LogFields {
  private static final int LONGEST = 200;

  private static final Pattern QUOTES = Pattern.compile("[\"\\\\]");

  private LogFields() {}

  /** The quoted value, at most 200 characters of it; {@code "-"} if there is none. */
  public static String quoted(@Nullable String value) {
    if (value == null) {
      return "\"-\"";
    }
    String most = value.length() <= LONGEST ? value : value.substring(0, LONGEST) + "…";
    return '"' + Texts.visible(QUOTES.matcher(most).replaceAll(LogFields::escaped)) + '"';
  }

  private static String escaped(MatchResult quote) {
    return "\\\\u%04x".formatted((int) quote.group().charAt(0));
  }
}
