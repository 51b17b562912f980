package io.fermata.flow.picture;

import java.util.List;

/** Guesses how wide texts are and breaks them into lines, since nobody can measure fonts here. */
final class Lettering {
  private static final String NARROW = "iljtfrI.,:;'|!()[]{}-/\\ ";
  private static final String WIDE = "mwMW@%…—";

  private Lettering() {}

  /** How a line of text looks. Bold letters are wider than others. */
  enum Tone {
    HEADING(18 * 1.05, 22, 0),
    TITLE(14 * 1.13, 19, 210),
    DETAIL(11.5, 15, 210),
    NOTE(11.5 * 1.13, 15, 210),
    LABEL(11.5, 15, 150),
    CONDITION(11.5, 15, 150),
    SEEN(11.5, 15, 150),
    MESSAGE(14, 19, 360);

    final double height;
    private final double em;
    private final double widest;

    Tone(double em, double height, double widest) {
      this.em = em;
      this.height = height;
      this.widest = widest;
    }
  }

  /** A line of text. */
  record Line(String text, Tone tone) {
    /** Rather too large than too small. */
    double width() {
      return tone.em * text.codePoints().mapToDouble(Lettering::ems).sum();
    }
  }

  private static double ems(int letter) {
    if (NARROW.indexOf(letter) >= 0) {
      return 0.38;
    }
    double wide = WIDE.indexOf(letter) >= 0 ? 1 : letter >= 0x2E80 ? 1.25 : 0.61;
    return Character.isUpperCase(letter) ? Math.max(0.7, wide) : wide;
  }

  /** Adds a text, broken at spaces and signs where there are any. */
  static void add(List<Line> lines, String text, Tone tone) {
    String line = "";
    for (int letter : text.replaceAll("\\s", " ").codePoints().toArray()) {
      String longer = line + Character.toString(letter);
      if (new Line(longer.strip(), tone).width() > tone.widest) {
        String whole = line.replaceFirst("[^ _./,-]+$", "");
        whole = whole.isBlank() ? line : whole;
        lines.add(new Line(whole.strip(), tone));
        longer = longer.substring(whole.length());
      }
      line = longer;
    }
    if (!line.isBlank()) {
      lines.add(new Line(line.strip(), tone));
    }
  }

  /** A text with a mark in place of each letter that no text may have. */
  static String sound(String text) {
    return text.replaceAll("[\\p{Cs}\\p{Cc}\\uFFFE\\uFFFF&&[^\n\t]]", "\uFFFD");
  }
}
