package io.fermata.agent.model;

import java.nio.charset.StandardCharsets;

/** The beginning of a text. */
final class Excerpt {
  private Excerpt() {}

  /** At most so many characters, and a mark if there are more; no half of a surrogate pair. */
  static String of(String text, int longest) {
    String begin = text;
    if (text.length() > longest) {
      boolean half = longest > 0 && Character.isHighSurrogate(text.charAt(longest - 1));
      begin = text.substring(0, half ? longest - 1 : longest) + "…";
    }
    return new String(begin.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }
}
