package io.fermata.flow.picture;

import java.util.ArrayList;
import java.util.List;

/** Guesses how wide texts are and breaks them into lines, since nobody can measure fonts here. */
final class Lettering {
  private static final String NARROW = "iljtfrI.,:;'|!()[]{}-/\\ ";
  private static final String WIDE = "mwMW@%…—";
  private static final String BREAKS = " _-./,";

  private Lettering() {}

  /** The width in a font of this size, rather too large than too small. */
  static double width(String text, double size) {
    return size * text.codePoints().mapToDouble(Lettering::ems).sum();
  }

  private static double ems(int letter) {
    if (NARROW.indexOf(letter) >= 0) {
      return 0.38;
    } else if (WIDE.indexOf(letter) >= 0) {
      return 1;
    } else if (letter >= 0x2E80) {
      return 1.25;
    }
    return Character.isUpperCase(letter) ? 0.7 : 0.61;
  }

  /** Lines that are no wider than this, broken at spaces and signs where there are any. */
  static List<String> wrap(String text, double size, double widest) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String piece : pieces(text)) {
      if (!line.isEmpty() && width(line + piece.strip(), size) > widest) {
        lines.add(line.toString().strip());
        line.setLength(0);
      }
      for (int letter : piece.codePoints().toArray()) {
        if (!line.isEmpty() && width(line.toString(), size) + size * ems(letter) > widest) {
          lines.add(line.toString().strip());
          line.setLength(0);
        }
        line.appendCodePoint(letter);
      }
    }
    lines.add(line.toString().strip());
    lines.removeIf(String::isEmpty);
    return lines.isEmpty() ? List.of("") : lines;
  }

  private static List<String> pieces(String text) {
    List<String> pieces = new ArrayList<>();
    StringBuilder piece = new StringBuilder();
    for (int letter : text.codePoints().map(Lettering::plain).toArray()) {
      piece.appendCodePoint(letter);
      if (BREAKS.indexOf(letter) >= 0) {
        pieces.add(piece.toString());
        piece.setLength(0);
      }
    }
    pieces.add(piece.toString());
    return pieces;
  }

  private static int plain(int letter) {
    return Character.isWhitespace(letter) ? ' ' : letter;
  }

  /** The letter, or a mark in its place if no text may have it. */
  static int sound(int letter) {
    boolean half = letter >= Character.MIN_SURROGATE && letter <= Character.MAX_SURROGATE;
    boolean control = Character.isISOControl(letter) && letter != '\n' && letter != '\t';
    return half || control || letter == 0xFFFE || letter == 0xFFFF ? 0xFFFD : letter;
  }
}
