package io.fermata.flow.json;

import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Texts of strangers, made fit for a journal, a reply and a log. */
public final class Texts {
  /**
   * What is not seen itself and changes how the text around it is displayed: controls, also those
   * beyond ASCII, line separators, and what changes the direction of text.
   */
  private static final Pattern UNSEEN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]");

  private Texts() {}

  /**
   * At most so many characters, and a mark if there are more; no half of a character that two
   * halves make.
   */
  public static String shortened(String text, int longest) {
    if (text.length() <= longest) {
      return sound(text);
    }
    int end =
        Character.isSurrogatePair(text.charAt(longest - 1), text.charAt(longest))
            ? longest - 1
            : longest;
    return sound(text.substring(0, end)) + "…";
  }

  /** The same with room for the mark: at most so many characters with it. */
  public static String fitted(String text, int longest) {
    return shortened(text, text.length() <= longest ? longest : longest - 1);
  }

  /**
   * The text on one line, with escapes for control and format characters, as JSON has them: JSON
   * stays the same JSON.
   */
  public static String visible(String text) {
    return UNSEEN.matcher(text).replaceAll(Texts::escaped);
  }

  /** A text that cannot look like another line, whatever the layout of the log. */
  public static String inOneLine(String text) {
    return UNSEEN.matcher(text).replaceAll(" ");
  }

  private static String escaped(MatchResult found) {
    StringBuilder escaped = new StringBuilder();
    found.group().chars().forEach(each -> escaped.append("\\\\u%04x".formatted(each)));
    return escaped.toString();
  }

  /**
   * The text with U+FFFD in place of each half of a surrogate pair, which no encoding can write.
   */
  public static String sound(String text) {
    if (!hasHalf(text)) {
      return text;
    }
    int[] codePoints = text.codePoints().map(Texts::sound).toArray();
    return new String(codePoints, 0, codePoints.length);
  }

  private static int sound(int codePoint) {
    boolean half = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
    return half ? 0xFFFD : codePoint;
  }

  static boolean hasHalf(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i))) {
        boolean pair =
            i + 1 < text.length() && Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1));
        if (!pair) {
          return true;
        }
        i++;
      }
    }
    return false;
  }
}
