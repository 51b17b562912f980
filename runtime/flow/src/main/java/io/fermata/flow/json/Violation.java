package io.fermata.flow.json;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** One reason why a call's values were refused: which field, and what is wrong with it. */
public record Violation(String field, String message) {
  private static final Pattern ENDED = Pattern.compile("[.!?…]$");

  /** A value is for an item that a list of so many does not have. */
  public static Violation ofNoItem(String field, int items) {
    return new Violation(field, "is of no item; there are " + items + ", counted from 0");
  }

  /** The violations that a reply lists, and how many more there are. */
  public static List<Violation> first(List<Violation> all) {
    int more = all.size() - Limits.VIOLATIONS;
    if (more <= 1) {
      return all;
    }
    List<Violation> first = new ArrayList<>(all.subList(0, Limits.VIOLATIONS));
    first.add(new Violation("stateUpdates", "has " + more + " more violations"));
    return first;
  }

  /** One sentence that names a cause and every violation behind it. */
  public static String listed(String cause, List<Violation> violations) {
    String listed =
        violations.stream()
            .map(v -> v.field() + " " + v.message())
            .collect(Collectors.joining("; ", cause + ": ", ""));
    return ENDED.matcher(listed).find() ? listed : listed + ".";
  }
}
