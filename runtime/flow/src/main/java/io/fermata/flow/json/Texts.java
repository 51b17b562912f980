package io.fermata.flow.json;

/** Texts of strangers, made fit for a journal and a reply. */
public final class Texts {
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

  private static String sound(String text) {
    int[] codePoints = text.codePoints().map(Texts::sound).toArray();
    return new String(codePoints, 0, codePoints.length);
  }

  private static int sound(int codePoint) {
    boolean half = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
    return half ? 0xFFFD : codePoint;
  }
}
