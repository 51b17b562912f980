package io.fermata.flow.json;

/** Texts of strangers, made fit for a journal and a reply. */
public final class Texts {
  private Texts() {}

  /** At most so many characters, and no half of a character that two halves make. */
  public static String shortened(String text, int longest) {
    String whole =
        new String(
            text.codePoints().map(Texts::sound).toArray(),
            0,
            text.codePointCount(0, text.length()));
    if (whole.length() <= longest) {
      return whole;
    }
    int end = Character.isHighSurrogate(whole.charAt(longest - 1)) ? longest - 1 : longest;
    return whole.substring(0, end) + "…";
  }

  private static int sound(int codePoint) {
    boolean half = codePoint >= Character.MIN_SURROGATE && codePoint <= Character.MAX_SURROGATE;
    return half ? 0xFFFD : codePoint;
  }
}
