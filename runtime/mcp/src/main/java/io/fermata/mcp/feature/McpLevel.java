package io.fermata.mcp.feature;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The severity of a log message, least severe first. */
public enum McpLevel {
  DEBUG,
  INFO,
  NOTICE,
  WARNING,
  ERROR,
  CRITICAL,
  ALERT,
  EMERGENCY;

  public final String text = name().toLowerCase(Locale.ROOT);

  public static @Nullable McpLevel of(@Nullable String text) {
    for (McpLevel level : values()) {
      if (level.text.equals(text)) {
        return level;
      }
    }
    return null;
  }
}
