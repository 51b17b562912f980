package io.fermata.mcp.access;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Values of strangers as fields of a log line: quoted, so that none can look like another field.
 */
public final class LogFields {
  private static final int LONGEST = 200;

  /** Quotes, what escapes them, and what changes how a line is displayed. */
  private static final Pattern SPECIAL =
      Pattern.compile("[\"\\\\\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]");

  private LogFields() {}

  /** The quoted value, at most 200 characters of it; {@code "-"} if there is none. */
  public static String quoted(@Nullable String value) {
    if (value == null) {
      return "\"-\"";
    }
    String most = value.length() <= LONGEST ? value : value.substring(0, LONGEST) + "…";
    return '"' + SPECIAL.matcher(most).replaceAll(LogFields::escaped) + '"';
  }

  private static String escaped(MatchResult found) {
    StringBuilder escaped = new StringBuilder();
    found.group().chars().forEach(each -> escaped.append("\\\\u%04x".formatted(each)));
    return escaped.toString();
  }
}
