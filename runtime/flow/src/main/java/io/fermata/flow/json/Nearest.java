package io.fermata.flow.json;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the known name that a misspelt one was probably meant to be. */
public final class Nearest {
  private Nearest() {}

  /** The closest name, if any is close enough to be a likely slip. */
  public static Optional<String> to(String name, Collection<String> known) {
    int allowed = Math.max(2, name.length() / 3);
    return known.stream()
        .filter(candidate -> Math.abs(candidate.length() - name.length()) <= allowed)
        .min(Comparator.comparingInt(candidate -> distance(name, candidate)))
        .filter(candidate -> distance(name, candidate) <= allowed);
  }

  /** The end of a refusal: whether the closest name was meant; empty if none is close. */
  public static String suggestion(String name, Collection<String> known) {
    return to(name, known).map(near -> "; did you mean " + near + "?").orElse("");
  }

  /**
   * What a refusal says next: whether the closest name was meant; if none is close, all of them.
   *
   * @param all stands before the list: "there are "
   */
  public static String next(String name, Collection<String> known, String all) {
    return to(name, known)
        .map(near -> "did you mean " + near + "?")
        .orElse(known.isEmpty() ? "there are none" : all + String.join(", ", known));
  }

  private static int distance(String left, String right) {
    String a = left.toLowerCase(Locale.ROOT);
    String b = right.toLowerCase(Locale.ROOT);
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
