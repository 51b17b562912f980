package io.fermata.flow.logging;

import java.util.regex.Pattern;

/** Texts of strangers, made fit for a log. */
public final class LogTexts {
  /** Controls, also those beyond ASCII, line separators, and what changes the direction of text. */
  private static final Pattern CHANGES_DISPLAY =
      Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]");

  private LogTexts() {}

  /** A text that cannot look like another line, whatever the layout of the log. */
  public static String inOneLine(String text) {
    return CHANGES_DISPLAY.matcher(text).replaceAll(" ");
  }
}
